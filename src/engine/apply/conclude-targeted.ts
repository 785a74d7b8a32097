import type { Db } from '../../warehouse/database/database.ts';
import { stampMs } from '../../warehouse/database/stamp.ts';
import { missingAmong } from '../../warehouse/rows/missing-rows.ts';
import { countBrought, valuesOf } from '../../warehouse/rows/stored-rows.ts';
import { dueAfterLeaving, readTargeted, watchedEntry } from '../coverage/targeted.ts';
import { isDeleted, UNCOVERED } from '../deletion/is-deleted.ts';
import { placeOf } from '../resource.ts';
import { sliceText } from '../slices/slice.ts';
import type { Ended, Outcome } from './outcome.ts';
import { lackClaims, lackedRows, readableKeys, remove, unreadableIn } from './settle-missing.ts';
import { changeCoverage, resourceIn, type TransactionEffects } from './transaction-effects.ts';

/**
 * A targeted slice was read. Rows that left it are deleted where that proves it; for the others, the slices that may hold them
 * become due.
 */
export async function concludeTargeted(
  tx: Db,
  effects: TransactionEffects,
  step: Ended<'targeted'>,
  { counts }: Outcome,
): Promise<void> {
  const { resource, task, slice, seen, end } = step;
  const at = stampMs(end.startedAt);
  const text = sliceText(slice);
  effects.afterCommit.push(() => task.progress.done.add(text));
  if (task.reportOnly) return;
  const value = end.complete && slice.by === 'value' ? slice.value : null;
  const lacked =
    value === null ? [] : (await lackedRows(tx, resource, { slice, seen, startedAt: end.startedAt })).lacked;
  const entry = watchedEntry(resourceIn(effects), slice);
  if (entry) {
    const changed = lacked.length + (await countBrought(tx, resource.table, readableKeys(seen), end.startedAt));
    changeCoverage(effects, readTargeted(resourceIn(effects), entry, { at, rows: seen.length, changed }));
  }
  if (lacked.length === 0) return;
  const left = lacked.map(({ key }) => key);
  const before = await missingAmong(tx, placeOf(resource), left);
  const mayBe = await unreadableIn(tx, effects, { slice, seen });
  const claims = lackClaims(lacked, before, { slice, at, mayBe }, value);
  const deleted = claims.filter(row => isDeleted(row, UNCOVERED, resource.strategy)).map(({ key }) => key);
  await remove(tx, effects, task, deleted, counts);
  // The other rows may have a new value: the slices that may hold them become due.
  const days = resource.dates ? await valuesOf(tx, resource.table, resource.dates.field, left) : [];
  changeCoverage(effects, dueAfterLeaving(resourceIn(effects), slice, at, { keys: left, days }));
}
