import type { z } from 'zod';
import { batchEntry } from '../source/public/bodies.ts';
import { resources } from '../source/public/resources.ts';

/** Where things of one kind are created. They are found again by the job of the same name; what has none cannot be looked for. */
export interface PushTarget {
  readonly path: string;
  /** What one line must hold. */
  readonly body: z.ZodObject;
  /** Fields of which one alone makes it likely that a new row is the line, however much of the rest the source has rewritten. */
  readonly telling: readonly string[];
  /** Fields that are lists: in a CSV file their cells hold JSON. */
  readonly lists: readonly string[];
  /** Takes many at once, of those that hold no more than `entry` does. */
  readonly batch: PushBatch | null;
}

export interface PushBatch {
  readonly path: string;
  readonly entry: z.ZodObject;
  readonly wrap: (entries: readonly unknown[]) => object;
}

const single = (
  { path, body }: { path: string; body: z.ZodObject },
  telling: readonly string[],
  lists: readonly string[] = [],
): PushTarget => ({
  path,
  body,
  telling,
  lists,
  batch: null,
});

/** All that can be pushed. Users cannot: their passwords would stand in a file and in the log of what was sent. */
export const PUSH_TARGETS: Readonly<Record<string, PushTarget>> = {
  customers: {
    ...single(resources.customers, ['account', 'email', 'phone']),
    batch: { path: resources.customerBatch.path, entry: batchEntry, wrap: customers => ({ customers }) },
  },
  invoices: single(resources.invoices, ['customer_id'], ['items']),
  leads: single(resources.leads, []),
  products: single(resources.products, ['name']),
  quotes: single(resources.quotes, ['customer_id'], ['items']),
  tickets: single(resources.tickets, ['subject']),
  transactions: single(resources.transactions, []),
};
