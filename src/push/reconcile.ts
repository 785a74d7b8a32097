import { type Clock, SECOND } from '../clock.ts';
import { isNewestFirst } from '../engine/profile/list-end.ts';
import { profileOf } from '../engine/profile/source-profile.ts';
import { placeOf, type Resource } from '../engine/resource.ts';
import { type Day, holds } from '../engine/slices/date-windows.ts';
import type { Database } from '../warehouse/database/database.ts';
import { databaseNow } from '../warehouse/database/now.ts';
import { readCoverage } from '../warehouse/ledgers/coverage.ts';
import { readTraits } from '../warehouse/ledgers/traits.ts';
import { findById, type HighestIds, highestIds, type NewRow, newRows } from '../warehouse/pushes/push-rows.ts';
import { isEmptied, noteNews, type PushItem, type PushNews, readItems } from '../warehouse/pushes/pushes.ts';
import { findSimilarRows, isAbove, matchRows } from './match-rows.ts';
import type { Sender } from './sender.ts';
import type { PushTarget } from './targets.ts';

/** Reads the list into the warehouse: as a sync does, newest end first, or a range of dates in full (null: without bound). */
export type ReadBack = (range: 'newest' | { readonly from: Day | null; readonly to: Day | null }) => Promise<void>;

/** The lines of a file on their way to a source. */
export interface Push {
  readonly database: Database;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly pushId: string;
  /** Its name in the log and in the ledger, e.g. `customers`. */
  readonly name: string;
  readonly target: PushTarget;
  /** Null if the API has no list, and so no job, to read the records back. */
  readonly resource: Resource | null;
  readonly sender: Sender;
  /** Entries per batch; 1 sends each line by itself. */
  readonly batchSize: number;
  /** How long the source may still carry out a request that was not answered. */
  readonly quietMs: number;
  readonly resendUnknown: boolean;
  readonly readBack: ReadBack;
  /** Called before it waits until the source certainly shows what was sent. */
  readonly onQuietWait: (waitMs: number) => void;
  readonly onSent: (lines: number) => void;
}

/** One whose records can be read back. */
type ListedPush = Push & { readonly resource: Resource };

export const isListed = (push: Push): push is ListedPush => push.resource !== null;

const isDoubtful = ({ state }: PushItem): boolean => state === 'sent' || state === 'unknown';

/** A line as it was sent, and what is left of the rows that were there before. */
type SentItem = PushItem & HighestIds;

/** The line may have a row at the source that was not found yet. An emptied line can be compared with none. */
export const isUnmatched = (item: PushItem): boolean =>
  isDoubtful(item) || (item.state === 'created' && item.rowKey === null && !isEmptied(item));

/**
 * Reads the list back and finds the row of each line that was sent. A line of unknown outcome becomes `planned` again once its absence is
 * proven: the slices that would hold its row were read after the source had finished with it and no answer lagged behind that, they show
 * every other line that was created, no new row is similar to it, no changed row equals it, and ids did not go down.
 */
export async function reconcile(given: ListedPush): Promise<void> {
  const { database, resource, readBack } = given;
  let unmatched: readonly SentItem[] = [];
  // A sync reads a short list in full, and of a long one the newest end and as much as the limit allows. If the second one
  // proves nothing, everything that could hold the rows is read.
  for (const reading of ['first', 'newest', 'all'] as const) {
    if (reading !== 'first' && (unmatched.length === 0 || (await isCovered(given, unmatched)))) break;
    const days = daysOf(resource, unmatched)?.sort();
    await readBack(reading === 'all' ? { from: days?.[0] ?? null, to: days?.at(-1) ?? null } : 'newest');
    unmatched = await matchItems(given);
    if (reading === 'first') await waitUntilShown(given, unmatched);
  }
  await noteNews(database.kysely, await updatesOfDoubtful(given, unmatched));
}

/**
 * Finds lines that the source refused but created nevertheless, before they are sent again. The list is read only if nothing has read it
 * since, as when the push that sent them was cut off.
 */
export async function findRefused(given: ListedPush): Promise<void> {
  const refused = (await readSent(given)).filter(({ state }) => state === 'refused');
  await waitUntilShown(given, refused);
  if (!(await isCovered(given, refused))) await given.readBack('newest');
  await matchItems(given);
}

/** From then on (epoch ms), an answer shows each of these lines that was carried out: the rule for what an absence proves. */
const shownFrom = ({ lagMs }: Resource, items: readonly PushItem[]): number =>
  Math.max(...items.map(item => item.quietAt ?? 0)) + lagMs;

async function waitUntilShown(
  { database, clock, signal, resource, onQuietWait }: ListedPush,
  items: readonly PushItem[],
): Promise<void> {
  if (items.length === 0) return;
  const waitMs = shownFrom(resource, items) - (await databaseNow(database));
  if (waitMs > SECOND) onQuietWait(waitMs);
  if (waitMs > 0) await clock.sleep(waitMs, signal);
}

/** The new states of the lines whose outcome is still unknown. */
async function updatesOfDoubtful(given: ListedPush, unmatched: readonly SentItem[]): Promise<PushNews[]> {
  const { resource, target } = given;
  const { job } = resource;
  const covered = await isCovered(given, unmatched);
  const unseen = unmatched.some(item => item.state === 'created');
  const doubtful = unmatched.filter(isDoubtful);
  const similar = findSimilarRows(job, target.identifying, doubtful, await rowsSince(given, doubtful));
  const since = await rowsSince(given, doubtful, { changed: true });
  const changed = matchRows(job, doubtful, since, ({ storedAt }, { lastAt }) => storedAt > (lastAt ?? ''));
  /** Why the line must not be sent again; null if it certainly was not created. */
  const doubtOf = ({ id, lastId, presentId }: SentItem): string | null => {
    const row = similar.get(id);
    if (row) return `A similar, but not equal, row is new: ${nameOf(row)}.`;
    const key = changed.get(id);
    if (key !== undefined) return `An equal row is not new, but has changed since: ${resource.table.key.name} ${key}.`;
    if (!covered) return 'The list could not be proven complete.';
    if (unseen) return 'The source does not show it. It also does not show every line that it reported as created.';
    const isBelow = lastId !== null && (presentId === null || isAbove(lastId, presentId));
    return isBelow ? 'The highest id at the source went down: ids of deleted records may be issued again.' : null;
  };
  return doubtful.map((item): PushNews => {
    const message = doubtOf(item);
    return message === null ? { id: item.id, state: 'planned' } : { id: item.id, state: 'unknown', message };
  });
}

/** The lines of a push, and what is left of the rows that were there when each was sent. */
async function readSent({ database, pushId, resource }: ListedPush): Promise<SentItem[]> {
  const { kysely } = database;
  const items = (await readItems(kysely, pushId)).filter(item => isUnmatched(item) || item.state === 'refused');
  const highest = new Map<string | null, HighestIds>();
  for (const { lastAt } of items)
    if (!highest.has(lastAt)) highest.set(lastAt, await highestIds(kysely, placeOf(resource), resource.table, lastAt));
  return items.map(item => ({ ...item, ...(highest.get(item.lastAt) as HighestIds) }));
}

/** Gives each line its row, if there is one, and returns the lines without. */
async function matchItems(given: ListedPush): Promise<SentItem[]> {
  const { pushId, resource } = given;
  const { kysely } = given.database;
  await findById(kysely, pushId, resource.table);
  const items = await readSent(given);
  const sent = items.filter(item => item.lastAt !== null);
  // Of equal lines the first gets the row: lines that were certainly created come before doubtful ones. A refused line that was created
  // nevertheless would be sent again by the next push.
  const rank = (item: PushItem) => (item.state === 'created' ? 0 : isDoubtful(item) ? 1 : 2);
  const candidates = sent.sort((a, b) => rank(a) - rank(b));
  const matched = matchRows(resource.job, candidates, await rowsSince(given, candidates));
  const news = [...matched].map(([id, rowKey]) => ({ id, state: 'created' as const, rowKey }));
  await noteNews(kysely, news);
  return items.filter(item => isUnmatched(item) && !matched.has(item.id));
}

/** The unclaimed rows that are newer than the state of the warehouse before the first of these lines was sent; see `newRows`. */
async function rowsSince(
  { database, resource }: ListedPush,
  items: readonly SentItem[],
  which?: { changed: boolean },
): Promise<NewRow[]> {
  if (items.length === 0) return [];
  const before = {
    lastId: least(items.map(item => item.lastId)),
    keptId: least(items.map(item => item.keptId)),
    // The texts come from one session, so they sort as the moments do.
    lastAt: items.map(item => item.lastAt).sort((a, b) => ((a ?? '') < (b ?? '') ? -1 : 1))[0] ?? null,
  };
  return newRows(database.kysely, placeOf(resource), resource.table, before, which);
}

const nameOf = ({ id, key }: NewRow): string => (id === null ? `_key ${key}` : `id ${id}`);

/** The smallest id; null if one of them is null. */
const least = (ids: readonly (string | null)[]): string | null =>
  ids.reduce(
    (smallest, id) => (smallest === null || (id !== null && isAbove(id, smallest)) ? smallest : id),
    ids[0] ?? null,
  );

/** Every slice that could hold one of these lines was read since answers show all of them. */
async function isCovered({ database, resource }: ListedPush, items: readonly SentItem[]): Promise<boolean> {
  const since = shownFrom(resource, items);
  const kept = least(items.map(item => item.keptId));
  const days = daysOf(resource, items);
  const entries = (await readCoverage(database.kysely, placeOf(resource))).filter(({ slice }) => {
    if (slice.by === 'date') return days === null || days.some(day => holds(slice, day));
    if (slice.by === 'id') return slice.to === null || kept === null || slice.to >= BigInt(kept);
    return slice.by === 'whole';
  });
  if (entries.length === 0 || !entries.every(({ provenAt }) => provenAt !== null && provenAt >= since)) return false;
  if (entries.every(({ slice }) => slice.by === 'date')) return true;
  const traits = await readTraits(database.kysely, resource.source);
  const { end, order } = profileOf(traits.filter(each => each.resource === resource.name));
  // New rows come first, or nothing can lie behind the end of the list.
  return end === null || end.verdict === 'agreed' || isNewestFirst(order);
}

/** The dates of these lines by which the list can be filtered; null if it has no date filter, or a line has no date. */
function daysOf({ dates }: Resource, items: readonly PushItem[]): Day[] | null {
  if (!dates) return null;
  const days = items.map(({ body }) => body[dates.field]);
  return days.every(day => typeof day === 'string') ? days : null;
}
