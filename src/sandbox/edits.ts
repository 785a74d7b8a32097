import { SECOND } from '../clock.ts';
import { stampOf } from './calendar.ts';
import type { Data } from './data.ts';
import type { Resource, Rows } from './rows.ts';

export type EventKind = 'invoice.created' | 'payment.received';

/** Changes of single rows, with the traces the source leaves: customers move `updated_at`, nothing else moves a stamp. */
export interface Edits {
  insert<R extends Resource>(resource: R, row: Omit<Rows[R], 'id'>): Rows[R];
  /** Undefined when there is no such row. */
  update<R extends Resource>(resource: R, id: number, patch: Partial<Rows[R]>): Rows[R] | undefined;
  remove(resource: Resource, id: number): boolean;
  restore(resource: Resource, id: number): boolean;
}

export function createEdits(data: Data, now: () => number, emit: (event: EventKind, id: number) => void): Edits {
  const seconds = () => Math.floor(now() / SECOND);
  return {
    insert(resource, row) {
      const inserted = data[resource].insert(row, seconds());
      if (resource === 'invoices') emit('invoice.created', inserted.id);
      return inserted;
    },
    update(resource, id, patch) {
      const stamped = resource === 'customers' ? { updated_at: stampOf(seconds()), ...patch } : patch;
      const updated = data[resource].update(id, stamped, seconds());
      const status = resource === 'invoices' && 'status' in patch ? patch.status : undefined;
      if (updated && (status === 'Paid' || status === 'Partially Paid')) emit('payment.received', id);
      return updated;
    },
    remove: (resource, id) => data[resource].remove(id),
    restore: (resource, id) => data[resource].restore(id),
  };
}
