import type { z } from 'zod';
import { endpoints } from '../source/api/endpoints.ts';
import { batchEntry } from '../source/api/request-bodies.ts';

/** An endpoint that creates records of one kind. The job of the same name finds them again; without a job they cannot be found. */
export interface PushTarget {
  readonly path: string;
  /** The schema of one line. */
  readonly body: z.ZodObject;
  /** Fields any one of which makes it likely that a new row is the line, however much of the rest the source has rewritten. */
  readonly identifying: readonly string[];
  /** Fields that are lists: their cells in a CSV file hold JSON. */
  readonly lists: readonly string[];
  /** The batch endpoint for lines that hold no more fields than its entries. */
  readonly batch: PushBatch | null;
}

interface PushBatch {
  readonly path: string;
  readonly entry: z.ZodObject;
  readonly wrap: (entries: readonly unknown[]) => object;
}

const single = (
  { path, body }: { path: string; body: z.ZodObject },
  identifying: readonly string[],
  lists: readonly string[] = [],
): PushTarget => ({
  path,
  body,
  identifying,
  lists,
  batch: null,
});

/** Everything that can be pushed. Users cannot: their passwords would be stored in a file and in the log. */
export const PUSH_TARGETS: Readonly<Record<string, PushTarget>> = {
  customers: {
    ...single(endpoints.customers, ['account', 'email', 'phone']),
    batch: { path: endpoints.customerBatch.path, entry: batchEntry, wrap: customers => ({ customers }) },
  },
  invoices: single(endpoints.invoices, ['customer_id'], ['items']),
  leads: single(endpoints.leads, []),
  products: single(endpoints.products, ['name']),
  quotes: single(endpoints.quotes, ['customer_id'], ['items']),
  tickets: single(endpoints.tickets, ['subject']),
  transactions: single(endpoints.transactions, []),
};

/** The lines of one request. */
interface RequestGroup<Item> {
  readonly batch: boolean;
  readonly items: Item[];
}

/** Groups lines into requests: those that a batch can hold by `batchSize`, all others one by one. */
export function groupRequests<Item extends { readonly body: unknown }>(
  target: PushTarget,
  items: readonly Item[],
  batchSize: number,
): RequestGroup<Item>[] {
  const fits = ({ body }: Item) => target.batch !== null && batchSize > 1 && target.batch.entry.safeParse(body).success;
  const together = items.filter(fits);
  const groups: RequestGroup<Item>[] = [];
  for (let at = 0; at < together.length; at += batchSize)
    groups.push({ batch: true, items: together.slice(at, at + batchSize) });
  return [...groups, ...items.filter(item => !fits(item)).map(item => ({ batch: false, items: [item] }))];
}
