import { z } from 'zod';
import { withAnySignal } from '../../any-signal.ts';
import { createMemoryBudget } from '../../budget/memory-budget.ts';
import { type Clock, HOUR, SECOND, systemClock } from '../../clock.ts';
import { endpoints } from '../api/endpoints.ts';
import { openClient } from '../client.ts';
import { PROGRAM_WORDING } from '../http/wording.ts';
import { createOperation, recordOperations } from './change-operations.ts';
import type { SluiceClient } from './public-types.ts';
import { listOperations, reportOperation } from './read-operations.ts';
import { checkInput, type Session } from './session.ts';

export { type ErrorKind, isKind, SluiceError } from '../../errors.ts';
export type { Meta } from '../paging/page-count.ts';
export type { Outcome } from './change-operations.ts';
export type * from './public-types.ts';
export type { Page } from './read-all.ts';
export type { CallOptions } from './session.ts';

export interface SluiceClientOptions {
  /** The installation's base address, e.g. `https://books.example.com`. Plain http only to this machine itself. */
  url: string;
  /** Create it in the source under Settings → API Access. */
  apiKey: string;
  /** How the key is sent: in a header, or as a query parameter. Default `bearer`. */
  auth?: 'bearer' | 'query';
  /** Requests in any window. Only this process is counted: give each program that shares the key a part of the limit. Default 1000. */
  limit?: number;
  /** The window's length in milliseconds. Default an hour. */
  windowMs?: number;
  /** Requests in flight at once, at most: fewer for a source that refuses so many. Default 4. */
  concurrency?: number;
  /** For one attempt, from sending to the last byte, in milliseconds. Default 30,000. */
  timeoutMs?: number;
  /** Stops every call. */
  signal?: AbortSignal;
  /** Called when requests wait for the limit, with the least number of milliseconds. */
  onWait?: (waitMs: number) => void;
  /** The source of time, for tests. Default: the system clock. */
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
 * Creates a typed client of the whole API, with the same limiter and retries as Sluice itself. It needs no database and counts requests in
 * memory. Every error is a `SluiceError` whose `kind` says what to do about it. Throws the kind `configuration` at once for an invalid
 * address or key.
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
  const webhooks = createOperation(session, endpoints.webhooks);
  const customerBatch = createOperation(session, endpoints.customerBatch);
  return {
    customers: {
      ...listOperations(session, endpoints.customers),
      ...createOperation(session, endpoints.customers),
      ...recordOperations(session, endpoints.customers),
    },
    invoices: { ...listOperations(session, endpoints.invoices), ...createOperation(session, endpoints.invoices) },
    transactions: {
      ...listOperations(session, endpoints.transactions),
      ...createOperation(session, endpoints.transactions),
    },
    products: { ...listOperations(session, endpoints.products), ...createOperation(session, endpoints.products) },
    quotes: { ...listOperations(session, endpoints.quotes), ...createOperation(session, endpoints.quotes) },
    tickets: { ...listOperations(session, endpoints.tickets), ...createOperation(session, endpoints.tickets) },
    leads: createOperation(session, endpoints.leads),
    users: { ...listOperations(session, endpoints.users), ...createOperation(session, endpoints.users) },
    orders: listOperations(session, endpoints.orders),
    suppliers: listOperations(session, endpoints.suppliers),
    purchases: listOperations(session, endpoints.purchases),
    reports: { financial: reportOperation(session, endpoints.financial) },
    webhooks: { register: (webhook, call) => webhooks.create(webhook, call) },
    batch: { customers: (entries, call) => customerBatch.create({ customers: [...entries] }, call) },
    close: () => source.close(),
  };
}
