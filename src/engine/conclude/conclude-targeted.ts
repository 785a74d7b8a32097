import { stampMs } from '../../clock.ts';
import type { Transaction } from '../../warehouse/database/database.ts';
import { readNow } from '../../warehouse/database/now.ts';
import { noteLeftDue } from '../../warehouse/ledgers/orders.ts';
import type { Counts } from '../../warehouse/ledgers/runs.ts';
import { type MissingBefore, markMissing, missingAmong } from '../../warehouse/rows/missing-rows.ts';
import { windowsOf } from '../../warehouse/rows/row-windows.ts';
import { countBrought, valuesOf } from '../../warehouse/rows/stored-rows.ts';
import { countsAfterCover, isBeforeCover } from '../coverage/hidden-rows.ts';
import { dueAfterLeaving, readTargeted, watchedEntry } from '../coverage/targeted.ts';
import { isDeleted, lacksHalf, UNCOVERED } from '../deletion/is-deleted.ts';
import { observeLackedByValue } from '../profile/lacked-by-value.ts';
import { showsRelated } from '../profile/strategy.ts';
import { placeOf, type Resource } from '../resource.ts';
import { type DateSlice, type Slice, sliceText } from '../slices/slice.ts';
import { lackClaims } from './claims.ts';
import type { Ended, Written } from './ended.ts';
import { remove } from './remove-rows.ts';
import { type FullReading, lackedRows, settleCovered, settleReplaced, unreadableIn } from './settle-missing.ts';
import { changeCoverage, remember, resourceIn, type TransactionEffects } from './transaction-effects.ts';

/**
 * A targeted slice was read. Rows that left it are deleted where that proves it; for the others, the slices that may hold them
 * become due.
 */
export async function concludeTargeted(
  tx: Transaction,
  effects: TransactionEffects,
  step: Ended<'targeted'>,
  { counts }: Written,
): Promise<void> {
  const { resource, task, slice, seen, unreadable, end } = step;
  const at = stampMs(end.startedAt);
  effects.events.push([task, { kind: 'done', slices: [sliceText(slice)] }]);
  if (slice.by === 'value' && !end.complete)
    effects.events.push([task, { kind: 'proved nothing', slices: [sliceText(slice)] }]);
  if (task.reportOnly) return;
  const left =
    end.complete && slice.by === 'value'
      ? await lackedRows(tx, resource, { slice, seen, startedAt: end.startedAt })
      : null;
  const lacked = left?.lacked ?? [];
  const entry = watchedEntry(resourceIn(effects), slice);
  // All of the list was read, not only its newest end.
  if (entry && slice.by === 'newest' && end.complete)
    changeCoverage(effects, { put: [{ ...entry, readAt: at, provenAt: at }] });
  else if (entry) {
    const changed = lacked.length + (await countBrought(tx.alone, resource.table, seen, end.startedAt));
    changeCoverage(
      effects,
      readTargeted(resourceIn(effects), entry, { at, rows: seen.length + unreadable.length, changed }),
    );
  }
  if (slice.by === 'newest' && resource.strategy.partition === 'date')
    await settleUnfiltered(tx, effects, step, counts);
  if (slice.by === 'value' && left !== null) await settleLeft(tx, effects, { ...step, slice }, left, counts);
}

/** The list was shown without a filter, to which its windows are compared. */
async function settleUnfiltered(
  tx: Transaction,
  effects: TransactionEffects,
  { resource, task, total, windowsHoldAll }: Ended<'targeted'>,
  counts: Counts,
): Promise<void> {
  await settleReplaced(tx, effects, task, counts);
  // Where nothing is counted, what the list shows is not missing any more, and no longer casts doubt on the windows that lacked it.
  if (!countsAfterCover(resource)) return settleCovered(tx, effects, task, counts, null);
  if (!task.state.countAsked || total == null) return;
  // Where the windows are not counted like the list, its count from before the cover must agree.
  if (windowsHoldAll) return settleCovered(tx, effects, task, counts, { counted: total, countedBefore: total });
  const { counted } = task.state;
  if (counted !== null && isBeforeCover(resourceIn(effects), counted))
    await settleCovered(tx, effects, task, counts, { counted: total, countedBefore: counted.rows });
}

/** Rows that left the list of a value: deleted where that proves it; else what may hold them becomes due. */
async function settleLeft(
  tx: Transaction,
  effects: TransactionEffects,
  { resource, task, slice, unreadable, end }: Ended<'targeted'> & { readonly slice: Extract<Slice, { by: 'value' }> },
  { lacked, recent, askAgainAt, stored }: Awaited<ReturnType<typeof lackedRows>>,
  counts: Counts,
): Promise<void> {
  const at = stampMs(end.startedAt);
  if (askAgainAt !== null) await dueLater(tx, effects, { task, slice }, recent, { at, dueAt: askAgainAt });
  if (lacked.length === 0) return;
  const keys = lacked.map(({ key }) => key);
  const half = lacksHalf(lacked.length, stored);
  const before = await missingBefore(tx, resource, { slice, keys, startedAt: end.startedAt, half });
  const mayBe = await unreadableIn(tx, effects, slice, unreadable, lacked);
  const hidden = hiddenBy(resource, slice, keys, before);
  const evidence = `"${sliceText(slice)}" lacked rows that no other slice lacks, such as ${hidden[0]}`;
  for (const observed of observeLackedByValue(resource.profile.lackedByValue, hidden, {
    value: slice.value,
    at,
    evidence,
  }))
    remember(effects, task, observed);
  const claims = hidden.length > 0 ? [] : lackClaims(lacked, before, { slice, at, half, mayBe }, slice.value);
  const deleted = claims.filter(row => isDeleted(row, UNCOVERED, resource.strategy)).map(({ key }) => key);
  await remove(tx, effects, task, deleted, counts);
  // Whether the list shows what only this one lacked counts once answers no longer lag behind.
  await dueLater(tx, effects, { task, slice }, keys, { at, dueAt: hidden.length > 0 ? at + resource.lagMs + 1 : at });
}

/** Those of the rows that were missing before. For one that went missing together with half of a slice, a list that lacks half counts as a reading. */
async function missingBefore(
  tx: Transaction,
  resource: Resource,
  {
    slice,
    keys,
    startedAt,
    half,
  }: Pick<FullReading, 'slice' | 'startedAt'> & { keys: readonly string[]; half: boolean },
): Promise<readonly MissingBefore[]> {
  const before = await missingAmong(tx, placeOf(resource), keys);
  const doubted =
    half && showsRelated(resource.strategy, slice) ? before.filter(row => row.half).map(({ key }) => key) : [];
  if (doubted.length === 0) return before;
  const endedAt = new Date(await readNow(tx)).toISOString();
  const reading = { slice: sliceText(slice), startedAt, endedAt, half, lagMs: resource.lagMs, provenBefore: null };
  const counted = await markMissing(tx, placeOf(resource), doubted, reading);
  return [...before.filter(({ key }) => !doubted.includes(key)), ...counted];
}

/** Rows that left a slice may have a new value: the parts that may hold them are due. */
export async function dueLater(
  tx: Transaction,
  effects: TransactionEffects,
  { task, slice }: Pick<Ended, 'task' | 'slice'>,
  keys: readonly string[],
  when: { readonly at: number; readonly dueAt: number },
  dueReason?: string,
): Promise<void> {
  const resource = resourceIn(effects);
  if (task.kind === 'refresh' && task.orderId !== null) await noteLeftDue(tx, task.orderId);
  const days = resource.dates ? await daysOf(tx, resource, keys) : [];
  changeCoverage(effects, dueAfterLeaving(resource, slice, when, { keys, days }, dueReason));
}

/** The day of each row, or the days that returned it where it shows none. */
async function daysOf(tx: Transaction, resource: Resource, keys: readonly string[]): Promise<DateSlice[]> {
  const { table, dates, strategy } = resource;
  const shown = await valuesOf(tx, table, dates?.field ?? '', keys);
  const days = [...shown.values()].map((day): DateSlice => ({ by: 'date', from: day, to: day }));
  const hidden = strategy.membership === 'window' ? keys.filter(key => !shown.has(key)) : [];
  return hidden.length === 0 ? days : [...days, ...(await windowsOf(tx, placeOf(resource), hidden))];
}

/** Without a row that no slice was found to lack, the list of related rows proves nothing: it may show only a part of them, such as the latest. */
const hiddenBy = (
  { strategy }: Resource,
  slice: Slice,
  lacked: readonly string[],
  missing: readonly MissingBefore[],
) => {
  if (!showsRelated(strategy, slice)) return [];
  const known = new Set(missing.map(({ key }) => key));
  return lacked.filter(key => !known.has(key));
};
