import { type Clock, SECOND } from '../clock.ts';
import { placeOf, type Resource } from '../engine/resource.ts';
import { type Day, holds } from '../engine/slices/date-windows.ts';
import type { Database } from '../warehouse/database/database.ts';
import { databaseNow } from '../warehouse/database/now.ts';
import { readCoverage } from '../warehouse/ledgers/coverage.ts';
import { findById, type NewRow, newRows } from '../warehouse/pushes/push-rows.ts';
import { isEmptied, noteNews, type PushItem, type PushNews, readItems } from '../warehouse/pushes/pushes.ts';
import { findSimilarRows } from './find-similar-rows.ts';
import { matchRows } from './match-rows.ts';
import type { PushTarget } from './targets.ts';

/** Reads the list into the warehouse: as a sync does, newest end first, or a range of dates in full (null: without bound). */
export type ReadBack = (range: 'newest' | { readonly from: Day | null; readonly to: Day | null }) => Promise<void>;

export interface Reconciliation {
  readonly database: Database;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly pushId: string;
  readonly target: PushTarget;
  readonly resource: Resource;
  readonly readBack: ReadBack;
  /** Called before it waits until the source has certainly finished with what was sent. */
  readonly onQuietWait: (waitMs: number) => void;
}

const isDoubtful = ({ state }: PushItem): boolean => state === 'sent' || state === 'unknown';

/** The line may have a row at the source that was not found yet. An emptied line can be compared with none. */
export const isUnmatched = (item: PushItem): boolean =>
  isDoubtful(item) || (item.state === 'created' && item.rowKey === null && !isEmptied(item));

/**
 * Reads the list back and finds the row of each line that was sent. A line of unknown outcome becomes `planned` again once its absence is
 * proven: the slices that would hold its row were read after the source had finished with it, they show every other line that was
 * created, and no new row is similar to it.
 */
export async function reconcile(given: Reconciliation): Promise<void> {
  const { database, resource, readBack } = given;
  await readBack('newest');
  let unmatched = await matchItems(given);
  await waitUntilQuiet(given, unmatched.filter(isDoubtful));
  // A sync reads a short list in full, and of a long one the newest end and as much as its share of the limit allows. If that proves
  // nothing, everything that could hold the rows is read.
  if (unmatched.length > 0 && !(await isCovered(given, unmatched))) {
    await readBack('newest');
    unmatched = await matchItems(given);
  }
  if (unmatched.length > 0 && !(await isCovered(given, unmatched))) {
    const days = daysOf(resource, unmatched)?.sort();
    await readBack({ from: days?.[0] ?? null, to: days?.at(-1) ?? null });
    unmatched = await matchItems(given);
  }
  await noteNews(database.kysely, await updatesOfDoubtful(given, unmatched));
}

/**
 * Finds lines that the source refused but created nevertheless, before they are sent again. The list is read only if nothing has read it
 * since, as when the push that sent them was cut off.
 */
export async function findRefused(given: Reconciliation, refused: readonly PushItem[]): Promise<void> {
  if (!(await isCovered(given, refused))) await given.readBack('newest');
  await matchItems(given);
}

async function waitUntilQuiet(
  { database, clock, signal, onQuietWait }: Reconciliation,
  doubtful: readonly PushItem[],
): Promise<void> {
  if (doubtful.length === 0) return;
  const waitMs = Math.max(...doubtful.map(item => item.quietAt ?? 0)) - (await databaseNow(database));
  if (waitMs > SECOND) onQuietWait(waitMs);
  if (waitMs > 0) await clock.sleep(waitMs, signal);
}

/** The new states of the lines whose outcome is still unknown. */
async function updatesOfDoubtful(given: Reconciliation, unmatched: readonly PushItem[]): Promise<PushNews[]> {
  const { resource, target } = given;
  const covered = await isCovered(given, unmatched);
  const unseen = unmatched.some(item => item.state === 'created');
  const doubtful = unmatched.filter(isDoubtful);
  const similar = findSimilarRows(resource.job, target.identifying, doubtful, await rowsSince(given, doubtful));
  return doubtful.map(({ id }): PushNews => {
    const row = similar.get(id);
    if (row) return { id, state: 'unknown', message: `A similar, but not equal, row is new: ${nameOf(row)}.` };
    if (covered && !unseen) return { id, state: 'planned' };
    const message = covered
      ? 'The source does not show it. It also does not show every line that it reported as created.'
      : 'The list could not be proven complete.';
    return { id, state: 'unknown', message };
  });
}

/** Gives each line its row, if there is one, and returns the lines without. */
async function matchItems(given: Reconciliation): Promise<PushItem[]> {
  const { pushId, resource } = given;
  const { kysely } = given.database;
  await findById(kysely, pushId, resource.table);
  const items = (await readItems(kysely, pushId)).filter(item => item.lastAt !== null);
  const unmatched = items.filter(isUnmatched);
  // Of equal lines the first gets the row: lines that were certainly created come before doubtful ones. A refused line that was created
  // nevertheless would be sent again by the next push.
  const candidates = [
    ...unmatched.filter(item => item.state === 'created'),
    ...unmatched.filter(isDoubtful),
    ...items.filter(item => item.state === 'refused'),
  ];
  const matched = matchRows(resource.job, candidates, await rowsSince(given, candidates));
  await noteNews(
    kysely,
    [...matched].map(([id, rowKey]) => ({ id, state: 'created' as const, rowKey })),
  );
  return (await readItems(kysely, pushId)).filter(isUnmatched);
}

/** The unclaimed rows that are newer than the state of the warehouse before the first of these lines was sent. */
async function rowsSince({ database, resource }: Reconciliation, items: readonly PushItem[]): Promise<NewRow[]> {
  if (items.length === 0) return [];
  const before = { lastId: least(items.map(item => item.lastId)), lastAt: earliest(items) };
  return newRows(database.kysely, placeOf(resource), resource.table, before);
}

const nameOf = ({ id, key }: NewRow): string => (id === null ? `_key ${key}` : `id ${id}`);

/** The smallest id; null if one of them is null. */
function least(ids: readonly (string | null)[]): string | null {
  let smallest: bigint | null = null;
  for (const id of ids) {
    if (id === null) return null;
    if (smallest === null || BigInt(id) < smallest) smallest = BigInt(id);
  }
  return smallest?.toString() ?? null;
}

// The texts come from one session, so they sort as the moments do.
const earliest = (items: readonly PushItem[]): string | null =>
  items.reduce<string | null>((first, { lastAt }) => (first === null || (lastAt ?? '') < first ? lastAt : first), null);

/** Every slice that could hold one of these lines was read after the source had finished with all of them. */
async function isCovered({ database, resource }: Reconciliation, items: readonly PushItem[]): Promise<boolean> {
  const since = Math.max(...items.map(item => item.quietAt ?? 0));
  const last = least(items.map(item => item.lastId));
  const days = daysOf(resource, items);
  const entries = (await readCoverage(database.kysely, placeOf(resource))).filter(({ slice }) => {
    if (slice.by === 'date') return days === null || days.some(day => holds(slice, day));
    if (slice.by === 'id') return slice.to === null || last === null || slice.to > BigInt(last);
    return slice.by === 'whole';
  });
  return entries.length > 0 && entries.every(({ provenAt }) => provenAt !== null && provenAt >= since);
}

/** The dates of these lines by which the list can be filtered; null if it has no date filter, or a line has no date. */
function daysOf({ dates }: Resource, items: readonly PushItem[]): Day[] | null {
  if (!dates) return null;
  const days = items.map(({ body }) => body[dates.field]);
  return days.every(day => typeof day === 'string') ? days : null;
}
