import { stampMs } from '../../clock.ts';
import { isContentKey } from '../../source/paging/row-key.ts';
import type { Db, Transaction } from '../../warehouse/database/database.ts';
import { readNow } from '../../warehouse/database/now.ts';
import type { Counts } from '../../warehouse/ledgers/runs.ts';
import { listMissing, type MissingRow, markMissing, missingAmong } from '../../warehouse/rows/missing-rows.ts';
import { countQuarantined, lastFirstSeen } from '../../warehouse/rows/quarantine.ts';
import { keptIn, shownByNone } from '../../warehouse/rows/row-windows.ts';
import { sliceCondition } from '../../warehouse/rows/slice-condition.ts';
import { type Compared, compareRows, countRows } from '../../warehouse/rows/stored-rows.ts';
import { sliceAsOf } from '../coverage/as-of.ts';
import type { Accounted } from '../coverage/hidden-rows.ts';
import { coveredSince, oldestProof, partition, unfilteredSince } from '../coverage/list.ts';
import { partsIn, type StoredCount } from '../coverage/prove.ts';
import { asksBeside, unreadBeside } from '../coverage/targeted.ts';
import { type Count, isDeleted, isInDoubt, type ListClaims, UNCOVERED } from '../deletion/is-deleted.ts';
import { type Believed, believed, type LackedRow } from '../deletion/lag.ts';
import { groupBy } from '../group-by.ts';
import { isContentKeyed, placeOf, type Resource } from '../resource.ts';
import { widened } from '../slices/date-windows.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import { lackClaims, type MayBe, rowClaims } from './claims.ts';
import { remove } from './remove-rows.ts';
import { resourceIn, type TransactionEffects } from './transaction-effects.ts';

/** The condition for stored rows that lie in the slice: by their columns, or by the windows that returned them. */
export const membersOf = (resource: Resource, slice: Slice) =>
  slice.by === 'date' && resource.strategy.membership === 'window'
    ? keptIn(placeOf(resource), resource.table, widened(slice))
    : sliceCondition(slice, resource.table, resource.dates?.field);

/** A complete reading: the slice, the keys it showed, and the time of its first grant. */
export interface FullReading {
  readonly slice: Slice;
  readonly seen: readonly string[];
  readonly startedAt: string;
}

const NOTHING: Compared = { left: [], rows: 0, changed: 0 };

/** Stored rows of the slice that the reading lacked, as far as that is believed, and how many are stored in all. */
export async function lackedRows(
  tx: Transaction,
  resource: Resource,
  { slice, seen, startedAt }: FullReading,
): Promise<Believed & { recent: readonly string[]; stored: StoredCount }> {
  const condition = membersOf(resource, slice);
  const { left, ...stored } = condition
    ? await compareRows(tx.alone, resource.table, condition, seen, startedAt)
    : NOTHING;
  const verdict = believed(left, { at: stampMs(startedAt), lagMs: resource.lagMs });
  const known = new Set(verdict.lacked);
  return { ...verdict, recent: left.filter(row => !known.has(row)).map(({ key }) => key), stored };
}

/**
 * Records that the reading could not read: each may be a row that was last shown before the record appeared. A row was shown when it was
 * stored, and when its slice was last shown in full.
 */
export async function unreadableIn(
  tx: Transaction,
  effects: TransactionEffects,
  slice: Slice,
  keys: readonly string[],
  lacked: readonly LackedRow[],
): Promise<MayBe> {
  if (keys.length === 0 || lacked.length === 0) return () => undefined;
  const list = resourceIn(effects);
  const appeared = (await lastFirstSeen(tx, placeOf(list), keys)) ?? Number.POSITIVE_INFINITY;
  const parts = slice.by === list.strategy.partition ? partsIn(list, slice) : partition(list);
  const proven = Math.min(...parts.map(({ provenAt }) => provenAt ?? Number.NEGATIVE_INFINITY));
  const keyed = lacked.map(({ key }) => key).filter(key => !isContentKey(key));
  // Since they appeared, its slice was proven without showing it.
  const inDoubt = new Set(
    (await missingAmong(tx, placeOf(list), keyed)).flatMap(row => (row.unreadable ? [row.key] : [])),
  );
  return ({ key, storedAt }) => (appeared > Math.max(storedAt, proven) || inDoubt.has(key) ? 'new' : 'old');
}

/** Marks the rows that a reading lacked as missing, and deletes those whose claims prove it. */
export async function settleLacked(
  tx: Transaction,
  effects: TransactionEffects,
  task: Task,
  {
    slice,
    startedAt,
    mayBe = () => undefined,
    half = false,
  }: Pick<FullReading, 'slice' | 'startedAt'> & { mayBe?: MayBe; half?: boolean },
  rows: readonly LackedRow[],
  counts: Counts,
): Promise<void> {
  const { resource } = effects;
  if (rows.length === 0) return;
  const ended = await readNow(tx);
  const endedAt = new Date(ended).toISOString();
  for (const [unreadable, group] of groupBy(rows, mayBe)) {
    const lacked = group.map(({ key }) => key);
    if (task.reportOnly) {
      if (unreadable !== 'new') for (const key of lacked) task.findings.extra.add(key);
      continue;
    }
    const provenBefore = sliceAsOf(resource, slice);
    const reading = {
      slice: sliceText(slice),
      startedAt,
      endedAt,
      unreadable,
      half,
      lagMs: resource.lagMs,
      provenBefore,
    };
    const before = await markMissing(tx, placeOf(resource), lacked, reading);
    counts.missing += lacked.length - before.length;
    resource.holdsMissing = true;
    const unread = before.length > 0 ? await keysInUnread(tx, resource) : new Set();
    const claims = lackClaims(group, before, { slice, at: ended, half, mayBe }).map(row => ({
      ...row,
      unread: unread.has(row.key),
    }));
    // Until the first answer of a loop, the list may show without a count what windows leave out.
    const mayLeaveOut = resource.strategy.partition === 'date' && resource.total === undefined;
    const list = { ...UNCOVERED, unfilteredSince: mayLeaveOut ? 0 : unfilteredSince(resource) };
    const deleted = claims.filter(row => isDeleted(row, list, resource.strategy)).map(({ key }) => key);
    await remove(tx, effects, task, deleted, counts);
  }
}

/** An answer of the newest end counted the list: notes if that accounts for all missing rows, so that none of them is there. */
export async function settleCount(
  tx: Transaction,
  effects: TransactionEffects,
  { counted, at }: { readonly counted: number; readonly at: number },
): Promise<void> {
  const resource = resourceIn(effects);
  const missing = (await listMissing(tx, placeOf(resource), resource.table, resource.strategy)).length;
  if (counted > (await leftOf(tx, resource, missing))) return;
  effects.afterCommit.push(() => {
    effects.resource.accountedAt = at;
  });
}

/** Missing rows that may still show beside their own place. */
async function keysInUnread(tx: Transaction, resource: Resource): Promise<ReadonlySet<string>> {
  if (!asksBeside(resource)) return new Set();
  const missing = await listMissing(tx, placeOf(resource), resource.table, resource.strategy);
  return new Set(missing.filter(row => unreadBeside(resource, row) !== null).map(({ key }) => key));
}

/** If windows were cut anew, a row is lacking once every window was read since and none returned it. */
export async function settleShownByNone(
  tx: Transaction,
  effects: TransactionEffects,
  task: Task,
  reading: Pick<FullReading, 'slice' | 'startedAt'>,
  counts: Counts,
): Promise<void> {
  const { resource } = effects;
  const oldest = oldestProof(resourceIn(effects));
  // Such rows appear only when the oldest proof moves on, and finding them scans all rows.
  if (oldest === null || oldest === oldestProof(resource)) return;
  const since = new Date(oldest).toISOString();
  const left = await shownByNone(tx, placeOf(resource), resource.table, since);
  const { lacked } = believed(left, { at: oldest, lagMs: resource.lagMs });
  await settleLacked(tx, effects, task, reading, lacked, counts);
}

/** Deletes rows that a complete cover has lacked since they went missing. `count`: null where the source counts none. */
export async function settleCovered(
  tx: Transaction,
  effects: TransactionEffects,
  task: Task,
  counts: Counts,
  counted: Omit<Count, 'left'> | null,
): Promise<void> {
  const resource = resourceIn(effects);
  if (!resource.holdsMissing) return;
  const since = coveredSince(resource);
  if (since === null) return;
  const missing = await listMissing(tx, placeOf(resource), resource.table, resource.strategy);
  const isCounted = counted !== null && missing.length > 0;
  const count = isCounted ? { ...counted, left: await leftOf(tx, resource, missing.length) } : null;
  const doubted = missing.some(row => isInDoubt(row, resource.strategy));
  const claims: ListClaims = { coveredSince: since, unfilteredSince: unfilteredSince(resource), count, doubted };
  const isGone = (row: MissingRow) =>
    isDeleted({ ...rowClaims(row), unread: unreadBeside(resource, row) !== null }, claims, resource.strategy);
  const deleted = missing.filter(isGone).map(({ key }) => key);
  await remove(tx, effects, task, deleted, counts);
}

/** The unfiltered list was read: deletes content that a window has lacked before, and that it does not show either. */
export async function settleReplaced(
  tx: Transaction,
  effects: TransactionEffects,
  task: Task,
  counts: Counts,
): Promise<void> {
  const resource = resourceIn(effects);
  if (!resource.holdsMissing || !isContentKeyed(resource.table)) return;
  const missing = await listMissing(tx, placeOf(resource), resource.table, resource.strategy);
  const claims = { ...UNCOVERED, unfilteredSince: unfilteredSince(resource) };
  const isGone = (row: MissingRow) => isContentKey(row.key) && isDeleted(rowClaims(row), claims, resource.strategy);
  await remove(
    tx,
    effects,
    task,
    missing.filter(isGone).map(({ key }) => key),
    counts,
  );
}

/** How many rows would be left without those that are missing. */
async function leftOf(tx: Transaction, resource: Resource, missing: number): Promise<number> {
  const { rows, quarantined } = await countStored(tx, resource);
  return rows + quarantined - missing;
}

/** How many of the rows that the source counts are here. A record that the cover showed and that is in quarantine without a row is one of them. */
export async function countStored(db: Db, resource: Resource): Promise<Pick<Accounted, 'rows' | 'quarantined'>> {
  const { table } = resource;
  const { rows } = await countRows(db, table, null);
  const since = coveredSince(resource) ?? undefined;
  const quarantined = resource.quarantined ? await countQuarantined(db, placeOf(resource), table, since) : 0;
  return { rows, quarantined };
}
