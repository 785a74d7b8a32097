import { type Clock, SECOND } from '../clock.ts';
import { placeOf, type Resource } from '../engine/resource.ts';
import { type Day, holds } from '../engine/slices/date-windows.ts';
import type { Database } from '../warehouse/database/database.ts';
import { databaseNow } from '../warehouse/database/now.ts';
import { readCoverage } from '../warehouse/ledgers/coverage.ts';
import { findById, type NewRow, newRows } from '../warehouse/pushes/push-rows.ts';
import { noteNews, type PushItem, readItems } from '../warehouse/pushes/pushes.ts';
import { findAlike } from './find-similar-rows.ts';
import { matchRows } from './match-rows.ts';
import type { PushTarget } from './targets.ts';

/** Has the list read into the warehouse: its newest end and what a sync reads beside it, or all of a range of dates (null: all there is). */
export type ReadBack = (ask: 'newest' | { readonly from: Day | null; readonly to: Day | null }) => Promise<void>;

export interface Settling {
  readonly database: Database;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly pushId: string;
  readonly target: PushTarget;
  readonly resource: Resource;
  readonly readBack: ReadBack;
  /** Told before it waits until the source is surely done with what was sent. */
  readonly onQuietWait: (waitMs: number) => void;
}

const isDoubtful = ({ state }: PushItem): boolean => state === 'sent' || state === 'unknown';
/** Its row is still to be seen. */
export const isOpen = (item: PushItem): boolean =>
  isDoubtful(item) || (item.state === 'created' && item.rowKey === null);

/**
 * Looks for what was sent in what the source shows: reads the list back, and gives each line its row. Lines of unknown outcome whose
 * row is not there are `planned` again once that is proven: the slices that would hold them were read after the source was done with
 * them, show everything else that was created, and no new row that is like them.
 */
export async function settle(settling: Settling): Promise<void> {
  const { database, clock, signal, target, resource, readBack } = settling;
  await readBack('newest');
  let open = await claim(settling);
  const doubtful = open.filter(isDoubtful);
  if (doubtful.length > 0) {
    const waitMs = Math.max(...doubtful.map(item => item.quietAt ?? 0)) - (await databaseNow(database));
    if (waitMs > SECOND) settling.onQuietWait(waitMs);
    if (waitMs > 0) await clock.sleep(waitMs, signal);
  }
  // A sync reads all of a short list, and of a long one the newest end and as much as its share of the limit allows. Only where that
  // proves nothing all that could hold the rows is read.
  if (open.length > 0 && !(await isProven(settling, open))) {
    await readBack('newest');
    open = await claim(settling);
  }
  if (open.length > 0 && !(await isProven(settling, open))) {
    const days = daysOf(resource, open)?.sort();
    await readBack({ from: days?.[0] ?? null, to: days?.at(-1) ?? null });
    open = await claim(settling);
  }
  const proven = await isProven(settling, open);
  const unseen = open.filter(item => item.state === 'created').length;
  const left = open.filter(isDoubtful);
  const alike = findAlike(resource.job, target.telling, left, await rowsSince(settling, left));
  const news = left.map(({ id }) => {
    const row = alike.get(id);
    if (row)
      return { id, state: 'unknown' as const, message: `A new row is like it, but not the same: ${nameOf(row)}.` };
    if (proven && unseen === 0) return { id, state: 'planned' as const };
    const message = proven
      ? 'The source does not show it; but it does not show all that it said it created either.'
      : 'What the source shows could not be proven complete.';
    return { id, state: 'unknown' as const, message };
  });
  await noteNews(database.kysely, news);
}

/**
 * Looks for lines that the source refused, before they are sent again: it may have created them all the same. The list is read only
 * where nothing has read it since, which is so when the push that sent them was cut off.
 */
export async function lookForRefused(settling: Settling, refused: readonly PushItem[]): Promise<void> {
  if (!(await isProven(settling, refused))) await settling.readBack('newest');
  await claim(settling);
}

/** Gives each line its row, as far as there are any; returns the lines that have none. */
async function claim(settling: Settling): Promise<PushItem[]> {
  const { pushId, resource } = settling;
  const { kysely } = settling.database;
  await findById(kysely, pushId, resource.table);
  const items = (await readItems(kysely, pushId)).filter(item => item.lastAt !== null);
  const open = items.filter(isOpen);
  // The first gets the row where several are equal: what was surely created goes before what may have been. A refusal that created
  // the thing all the same would be sent once more with the next push.
  const sought = [
    ...open.filter(item => item.state === 'created'),
    ...open.filter(isDoubtful),
    ...items.filter(item => item.state === 'refused'),
  ];
  const matched = matchRows(resource.job, sought, await rowsSince(settling, sought));
  await noteNews(
    kysely,
    [...matched].map(([id, rowKey]) => ({ id, state: 'created' as const, rowKey })),
  );
  return (await readItems(kysely, pushId)).filter(isOpen);
}

/** The rows no line has yet that came since the first of these was sent. */
async function rowsSince({ database, resource }: Settling, items: readonly PushItem[]): Promise<NewRow[]> {
  if (items.length === 0) return [];
  const since = { lastId: least(items.map(item => item.lastId)), lastAt: earliest(items) };
  return newRows(database.kysely, placeOf(resource), resource.table, since);
}

const nameOf = ({ id, key }: NewRow): string => (id === null ? `_key ${key}` : `id ${id}`);

/** The smallest of them; null where one of them is. */
function least(ids: readonly (string | null)[]): string | null {
  let smallest: bigint | null = null;
  for (const id of ids) {
    if (id === null) return null;
    if (smallest === null || BigInt(id) < smallest) smallest = BigInt(id);
  }
  return smallest?.toString() ?? null;
}

// All come from one place, so their texts sort as the moments do.
const earliest = (items: readonly PushItem[]): string | null =>
  items.reduce<string | null>((first, { lastAt }) => (first === null || (lastAt ?? '') < first ? lastAt : first), null);

/** Every slice in which one of these could lie was read after the source was done with all of them. */
async function isProven({ database, resource }: Settling, open: readonly PushItem[]): Promise<boolean> {
  const since = Math.max(...open.map(item => item.quietAt ?? 0));
  const last = least(open.map(item => item.lastId));
  const days = daysOf(resource, open);
  const entries = (await readCoverage(database.kysely, placeOf(resource))).filter(({ slice }) => {
    if (slice.by === 'date') return days === null || days.some(day => holds(slice, day));
    if (slice.by === 'id') return slice.to === null || last === null || slice.to > BigInt(last);
    return slice.by === 'whole';
  });
  return entries.length > 0 && entries.every(({ provenAt }) => provenAt !== null && provenAt >= since);
}

/** The dates by which the list can be asked for these; null where it cannot be, or one of them has none. */
function daysOf({ dates }: Resource, items: readonly PushItem[]): Day[] | null {
  if (!dates) return null;
  const days = items.map(({ body }) => body[dates.field]);
  return days.every(day => typeof day === 'string') ? days : null;
}
