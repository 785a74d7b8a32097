import type { z } from 'zod';
import { batchEntry, createBodies } from '../source/api/request-bodies.ts';

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
  path: string,
  body: z.ZodObject,
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
    ...single('/api/v2/customers', createBodies.customers, ['account', 'email', 'phone']),
    batch: { path: '/api/v2/batch/customers', entry: batchEntry, wrap: customers => ({ customers }) },
  },
  invoices: single('/api/v2/invoices', createBodies.invoices, ['customer_id'], ['items']),
  leads: single('/api/v2/leads', createBodies.leads, []),
  products: single('/api/v2/products', createBodies.products, ['name']),
  quotes: single('/api/v2/quotes', createBodies.quotes, ['customer_id'], ['items']),
  tickets: single('/api/v2/tickets', createBodies.tickets, ['subject']),
  transactions: single('/api/v2/transactions', createBodies.transactions, []),
};
