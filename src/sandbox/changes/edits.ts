import { SECOND } from '../../clock.ts';
import { stampOf } from '../data/calendar.ts';
import type { Data } from '../data/data.ts';
import type { Resource, Rows } from '../data/rows.ts';

export const eventKinds = ['invoice.created', 'payment.received'] as const;
export type EventKind = (typeof eventKinds)[number];

/** Receives each event, with the row it is about. */
export type EmitEvent = <R extends 'invoices' | 'transactions'>(event: EventKind, resource: R, row: Rows[R]) => void;

/** Edits of single rows. Only customers have a timestamp that moves; an edit of any other row leaves no trace. */
export interface Edits {
  insert<R extends Resource>(resource: R, row: Omit<Rows[R], 'id'>): Rows[R];
  /** Undefined if the row does not exist. */
  update<R extends Resource>(resource: R, id: number, patch: Partial<Rows[R]>): Rows[R] | undefined;
  remove(resource: Resource, id: number): boolean;
  restore(resource: Resource, id: number): boolean;
}

/**
 * The document does not say when events occur. Here a payment is an invoice that becomes paid or partially paid, or a new
 * Income transaction; only the latter can be made through the API.
 */
export function createEdits(data: Data, now: () => number, emit: EmitEvent): Edits {
  const seconds = () => Math.floor(now() / SECOND);
  return {
    insert(resource, row) {
      const inserted = data[resource].insert(row, seconds());
      if (resource === 'invoices') emit('invoice.created', 'invoices', inserted as Rows['invoices']);
      if (resource === 'transactions' && 'type' in inserted && inserted.type === 'Income')
        emit('payment.received', 'transactions', inserted as Rows['transactions']);
      return inserted;
    },
    update(resource, id, patch) {
      const stamped = resource === 'customers' ? { updated_at: stampOf(seconds()), ...patch } : patch;
      const updated = data[resource].update(id, stamped, seconds());
      const status = resource === 'invoices' && 'status' in patch ? patch.status : undefined;
      if (updated && (status === 'Paid' || status === 'Partially Paid'))
        emit('payment.received', 'invoices', updated as Rows['invoices']);
      return updated;
    },
    remove: (resource, id) => data[resource].remove(id),
    restore: (resource, id) => data[resource].restore(id),
  };
}
