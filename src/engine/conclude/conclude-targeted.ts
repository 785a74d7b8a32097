import { stampMs } from '../../clock.ts';
import type { Db } from '../../warehouse/database/database.ts';
import { missingAmong, type SeenRow } from '../../warehouse/rows/missing-rows.ts';
import { countBrought, valuesOf } from '../../warehouse/rows/stored-rows.ts';
import { dueAfterLeaving, readTargeted, watchedEntry } from '../coverage/targeted.ts';
import { isDeleted, UNCOVERED } from '../deletion/is-deleted.ts';
import { behindEnd } from '../profile/list-end.ts';
import type { Observation } from '../profile/observation.ts';
import { placeOf, type Resource } from '../resource.ts';
import { sliceText } from '../slices/slice.ts';
import type { Ended, Outcome } from './outcome.ts';
import { lackClaims, lackedRows, remove, unreadableIn } from './settle-missing.ts';
import { changeCoverage, remember, resourceIn, type TransactionEffects } from './transaction-effects.ts';

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
  const { resource, task, slice, seen, unreadable, end } = step;
  const at = stampMs(end.startedAt);
  effects.events.push([task, { kind: 'done', slices: [sliceText(slice)] }]);
  if (task.reportOnly) return;
  const value = end.complete && slice.by === 'value' ? slice.value : null;
  const lacked =
    value === null ? [] : (await lackedRows(tx, resource, { slice, seen, startedAt: end.startedAt })).lacked;
  const entry = watchedEntry(resourceIn(effects), slice);
  if (entry) {
    const changed = lacked.length + (await countBrought(tx, resource.table, seen, end.startedAt));
    changeCoverage(
      effects,
      readTargeted(resourceIn(effects), entry, { at, rows: seen.length + unreadable.length, changed }),
    );
  }
  if (lacked.length === 0) return;
  const left = lacked.map(({ key }) => key);
  const before = await missingAmong(tx, placeOf(resource), left);
  const mayBe = await unreadableIn(tx, effects, slice, unreadable);
  const hidden = hiddenBehind(resource, step, left, before);
  if (hidden.size > 0) await remember(tx, effects, task, observeCut(resource, step));
  const inFront = lacked.filter(({ key }) => !hidden.has(key));
  const claims = lackClaims(inFront, before, { slice, at, mayBe }, value);
  const deleted = claims.filter(row => isDeleted(row, UNCOVERED, resource.strategy)).map(({ key }) => key);
  await remove(tx, effects, task, deleted, counts);
  // The other rows may have a new value: the slices that may hold them become due.
  const days = resource.dates ? await valuesOf(tx, resource.table, resource.dates.field, left) : new Map();
  changeCoverage(effects, dueAfterLeaving(resourceIn(effects), slice, at, { keys: left, days: [...days.values()] }));
}

/**
 * Rows that a list of related rows may hide behind its end: all there, if it lacks one that no other slice was found to lack. A source may
 * show at most so many rows of it.
 */
function hiddenBehind(
  { profile, strategy }: Resource,
  { slice, end: { reached } }: Ended<'targeted'>,
  lacked: readonly string[],
  missing: readonly SeenRow[],
): ReadonlySet<string> {
  if (slice.by !== 'value' || slice.field !== strategy.relatedBy || !reached || reached.counted) return new Set();
  const behind = behindEnd(lacked, reached, profile.order);
  const known = new Set(missing.map(({ key }) => key));
  return new Set(behind.every(key => known.has(key)) ? [] : behind);
}

/** A list of related rows that seems cut off. A second one of the same length shows that such lists are, and confirm nothing. */
function observeCut({ profile }: Resource, { slice, end: { reached } }: Ended<'targeted'>): Observation {
  const field = slice.by === 'value' ? slice.field : '';
  const rows = reached?.rows ?? 0;
  const evidence = `"${sliceText(slice)}" ended after ${rows} rows and lacked rows that no other slice lacks`;
  return profile.longest.get(field) === rows
    ? { trait: `filter ${field}`, value: 'cut', evidence }
    : { trait: `longest ${field}`, value: `${rows}` as const, evidence };
}
