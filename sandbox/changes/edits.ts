import { MINUTE, SECOND } from '../../src/clock.ts';
import { stampOf } from '../data/calendar.ts';
import type { Data } from '../data/data.ts';
import type { Resource, Rows } from '../data/rows.ts';
import { createHistory, type History } from './history.ts';

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
  /** Runs `read` on the rows as they were at a moment of the latest minute, in milliseconds since the epoch. */
  readonly asOf: History['asOf'];
}

const KEPT_MS = MINUTE;

/**
 * The document does not say when events occur. Here a payment is an invoice that becomes paid or partially paid, or a new
 * Income transaction; only the latter can be made through the API.
 */
export function createEdits(data: Data, now: () => number, emit: EmitEvent): Edits {
  const seconds = () => Math.floor(now() / SECOND);
  const history = createHistory(KEPT_MS);
  const removal = (resource: Resource, id: number) => ({
    remove: () => void data[resource].remove(id),
    restore: () => void data[resource].restore(id),
  });
  return {
    insert(resource, row) {
      const { nextId } = data[resource];
      const [before, changedBefore] = [data[resource].removed(nextId), data[resource].changedAt(nextId)];
      const changed = seconds();
      const inserted = data[resource].insert(row, changed);
      const { remove, restore } = removal(resource, inserted.id);
      // The id may have been issued again: its place then holds the removed row when the insertion is undone.
      history.record({
        at: now(),
        undo() {
          if (before) data[resource].update(inserted.id, before, changedBefore);
          remove();
        },
        redo() {
          restore();
          if (before) data[resource].update(inserted.id, inserted, changed);
        },
      });
      if (resource === 'invoices') emit('invoice.created', 'invoices', inserted as Rows['invoices']);
      if (resource === 'transactions' && 'type' in inserted && inserted.type === 'Income')
        emit('payment.received', 'transactions', inserted as Rows['transactions']);
      return inserted;
    },
    update(resource, id, patch) {
      const stamped = resource === 'customers' ? { updated_at: stampOf(seconds()), ...patch } : patch;
      const [before, changedBefore] = [data[resource].get(id), data[resource].changedAt(id)];
      const changed = seconds();
      const updated = data[resource].update(id, stamped, changed);
      if (before && updated)
        history.record({
          at: now(),
          undo: () => void data[resource].update(id, before, changedBefore),
          redo: () => void data[resource].update(id, updated, changed),
        });
      const status = resource === 'invoices' && 'status' in patch ? patch.status : undefined;
      if (updated && (status === 'Paid' || status === 'Partially Paid'))
        emit('payment.received', 'invoices', updated as Rows['invoices']);
      return updated;
    },
    remove(resource, id) {
      const removed = data[resource].remove(id);
      const { remove, restore } = removal(resource, id);
      if (removed) history.record({ at: now(), undo: restore, redo: remove });
      return removed;
    },
    restore(resource, id) {
      const restored = data[resource].restore(id);
      const { remove, restore } = removal(resource, id);
      if (restored) history.record({ at: now(), undo: remove, redo: restore });
      return restored;
    },
    asOf: (at, read) => history.asOf(at, read),
  };
}
