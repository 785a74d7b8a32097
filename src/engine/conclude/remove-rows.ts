import { SluiceError } from '../../errors.ts';
import { acceptDeletes } from '../../next-steps.ts';
import type { Transaction } from '../../warehouse/database/database.ts';
import type { Counts } from '../../warehouse/ledgers/runs.ts';
import { BELIEVED_AFTER, deleteRows, type RowLossLimit, readRowLossLimit } from '../../warehouse/rows/delete-rows.ts';
import { listMissing } from '../../warehouse/rows/missing-rows.ts';
import { shownBy } from '../read/step.ts';
import { placeOf, type Resource } from '../resource.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import type { TransactionEffects } from './transaction-effects.ts';

/** Moves rows to the history, unless another answer of the transaction shows them. At the loss limit they stay missing, and the task fails. */
export async function remove(
  tx: Transaction,
  effects: TransactionEffects,
  task: Task,
  keys: readonly string[],
  counts: Counts,
): Promise<void> {
  const { resource, steps } = effects;
  const shown = new Set(keys.length > 0 ? steps.flatMap(shownBy) : []);
  const gone = keys.filter(key => !shown.has(key));
  const result = await deleteRows(tx, resource.table, placeOf(resource), gone, {
    ...{ runId: task.runId, lagMs: resource.lagMs },
    // Rows deleted earlier in this transaction count.
    accepted: Math.max(task.state.accepted - counts.deleted, 0),
  });
  if ('deleted' in result) {
    counts.deleted += result.deleted.length;
    effects.events.push([task, { kind: 'deleted', rows: result.deleted.length }]);
    return;
  }
  effects.events.push([task, { kind: 'failed', error: heldBack(resource, result.beyond) }]);
}

/**
 * A reading showed at least as many unreadable records as it lacked rows. If more are missing than may be lost, their ids have changed: the task
 * fails, as asking for each of them would confirm nothing.
 */
export async function failIfUnreadable(
  tx: Transaction,
  { resource, events }: TransactionEffects,
  task: Task,
  slice: Slice,
  records: number,
): Promise<void> {
  const { limit } = await readRowLossLimit(tx, resource.table, placeOf(resource));
  const rows = await listMissing(tx, placeOf(resource), resource.table, resource.strategy);
  const missing = rows.filter(row => row.unreadable).length;
  if (missing <= limit + task.state.accepted) return;
  const where = `${resource.name} "${sliceText(slice)}"`;
  const message = `${where}: ${records} records came without an id that can be read, and ${missing} stored rows are missing. None of them was deleted.`;
  const next = 'See: sluice quarantine. The next run continues once the source shows the ids as before.';
  events.push([task, { kind: 'failed', error: new SluiceError('failed', message, { next }) }]);
}

/** Why a run fails while rows are missing that may not be deleted. */
export function heldBack({ name, source }: Resource, { missing, lost, limit, stored }: RowLossLimit): SluiceError {
  const why =
    lost + missing > limit
      ? `with ${lost} deleted in the last 24 hours that is more than the ${limit} a day allows`
      : `that is more than half of ${stored}, which is believed after ${BELIEVED_AFTER.readings} readings over 24 hours`;
  return new SluiceError(
    'fuse',
    `The source no longer shows ${missing} rows of ${name}; ${why}, so none of them was deleted.`,
    { next: `If they are really gone: ${acceptDeletes(name, missing, source)}` },
  );
}
