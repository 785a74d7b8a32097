import { z } from 'zod';
import { createMemoryBudget } from '../../budget/memory-budget.ts';
import { type Clock, HOUR, SECOND, systemClock } from '../../clock.ts';
import { openClient } from '../client.ts';
import { withAnySignal } from '../http/any-signal.ts';
import { PROGRAM_WORDING } from '../http/wording.ts';
import { createOperation, recordOperations } from './change-operations.ts';
import { checkInput } from './check-input.ts';
import { listOperations } from './list-operations.ts';
import type { SluiceClient } from './public-types.ts';
import { reportOperation } from './report-operation.ts';
import { resources } from './resources.ts';
import type { Session } from './session.ts';

export { type ErrorKind, isKind, SluiceError } from '../../errors.ts';
export type { Meta } from '../answers/meta.ts';
export type { Outcome } from './change-operations.ts';
export type * from './public-types.ts';
export type { Page } from './read-all.ts';
export type { CallOptions } from './session.ts';

export interface SluiceClientOptions {
  /** The installation's base address, e.g. `https://books.example.com`. Plain http only to this machine itself. */
  url: string;
  /** Created in the source under Settings, API Access. */
  apiKey: string;
  /** How the key is sent: in a header, or as a query parameter. Default `bearer`. */
  auth?: 'bearer' | 'query';
  /** Requests in any window. It is counted in this process alone: give each program that shares the key its part. Default 1000. */
  limit?: number;
  /** The window's length in milliseconds. Default an hour. */
  windowMs?: number;
  /** Requests in flight at once. Default 4. */
  concurrency?: number;
  /** For one attempt, from sending to the last byte, in milliseconds. Default 30,000. */
  timeoutMs?: number;
  /** Stops every call. */
  signal?: AbortSignal;
  /** Told when requests wait for the limit, and for how many milliseconds at least. */
  onWait?: (waitMs: number) => void;
  /** Where time comes from, for tests. Default the system's. */
  clock?: Clock;
}

const wholeNumber = z.int('must be a whole number').positive('must be greater than 0');
const settings = z.object({
  url: z.string('must be an address such as https://books.example.com'),
  apiKey: z.string('must be text'),
  auth: z.enum(['bearer', 'query'], 'must be bearer or query').default('bearer'),
  limit: wholeNumber.default(1000),
  windowMs: wholeNumber.default(HOUR),
  concurrency: wholeNumber.default(4),
  timeoutMs: wholeNumber.default(30 * SECOND),
});

/**
 * A typed client of the whole API, with the same limiter and retries as Sluice itself and no database: it counts its requests in memory.
 * Every error is a `SluiceError` whose `kind` says what to do about it. Throws the kind `configuration` at once for a wrong address or key.
 *
 * @example
 * const client = createClient({ url: 'https://books.example.com', apiKey: process.env.API_KEY ?? '' });
 * for await (const invoice of client.invoices.all({ status: 'Unpaid' })) console.log(invoice.id, invoice.amount);
 * await client.close();
 */
export function createClient(options: SluiceClientOptions): SluiceClient {
  const { onWait, clock = systemClock } = options;
  const { limit, windowMs, ...given } = checkInput(settings, options, 'createClient');
  const source = openClient({
    ...given,
    budget: createMemoryBudget({ clock, limit, windowMs }),
    windowMs,
    clock,
    wording: PROGRAM_WORDING,
    ...(onWait && { onWait: (_lane, waitMs) => onWait(waitMs) }),
  });
  const session: Session = {
    source,
    within(lane, call, work) {
      return withAnySignal([options.signal, call?.signal], ({ signal }) => work({ lane, purpose: 'client', signal }));
    },
  };
  const webhooks = createOperation(session, resources.webhooks);
  const customerBatch = createOperation(session, resources.customerBatch);
  return {
    customers: {
      ...listOperations(session, resources.customers),
      ...createOperation(session, resources.customers),
      ...recordOperations(session, resources.customers),
    },
    invoices: { ...listOperations(session, resources.invoices), ...createOperation(session, resources.invoices) },
    transactions: {
      ...listOperations(session, resources.transactions),
      ...createOperation(session, resources.transactions),
    },
    products: { ...listOperations(session, resources.products), ...createOperation(session, resources.products) },
    quotes: { ...listOperations(session, resources.quotes), ...createOperation(session, resources.quotes) },
    tickets: { ...listOperations(session, resources.tickets), ...createOperation(session, resources.tickets) },
    leads: createOperation(session, resources.leads),
    users: { ...listOperations(session, resources.users), ...createOperation(session, resources.users) },
    orders: listOperations(session, resources.orders),
    suppliers: listOperations(session, resources.suppliers),
    purchases: listOperations(session, resources.purchases),
    reports: { financial: reportOperation(session, resources.financial) },
    webhooks: { register: (webhook, call) => webhooks.create(webhook, call) },
    batch: { customers: (entries, call) => customerBatch.create({ customers: [...entries] }, call) },
    close: () => source.close(),
  };
}
