import { HOUR } from '../../clock.ts';
import { type Entry, NOT_OFFERED } from '../slices/coverage-entry.ts';
import { within } from '../slices/date-windows.ts';
import { holdsId, subtract } from '../slices/id-ranges.ts';
import type { DateSlice, IdSlice, Slice } from '../slices/slice.ts';
import { sliceText } from '../slices/slice.ts';
import { type List, pageSize, partition, requestsFor } from './list.ts';

/** What was learnt loses half its weight in four weeks. */
const HALF_LIFE_HOURS = 28 * 24;
/** So many changes tell how often there is one; whatever is older than the last of them counts for less. */
const MOST_EVIDENCE = 50;
/** Changes that one reading may show, and times as many as expected, before the rest is taken for a single event: an import, or a mass edit. */
const MOST_AT_ONCE = 5;

/** Slices that leave the coverage of a list, and what is known of others from now on. */
export interface CoverageChange {
  readonly removed: readonly Slice[];
  readonly put: readonly Entry[];
}

/** Stored rows of a slice, and how many of them the reading brought. */
export interface StoredCount {
  readonly rows: number;
  readonly changed: number;
}

/** A reading that showed a slice in full. */
export interface Proof {
  /** Grant time of its first request (epoch ms): what it proves, it proves as of then. */
  readonly at: number;
  /** Stored rows that it lacked. */
  readonly lacked: number;
  /** Pages that it took, where that is known; the last may lie beyond its rows. */
  readonly pages?: number | undefined;
  /** It showed no row. Default: false. */
  readonly isEmpty?: boolean;
}

/** Why a window that never showed a row may have some all the same, see `hiddenRows`. */
export const EMPTY = 'it was never seen to have rows, and not read for long';
/** For so long, a source that is out of order may show no rows. */
const EMPTY_HOURS = 0.25;

/** True when `part` lies in what was read. */
export function contains(read: Slice, part: Slice): boolean {
  if (read.by === 'date' && part.by === 'date') return within(part, read.from, read.to);
  if (read.by === 'id' && part.by === 'id') return subtract(part, read).length === 0;
  return read.by === part.by;
}

/** The parts of the list that lie in what was read. */
export const partsIn = (list: List, read: Slice): Entry[] =>
  partition(list).filter(({ slice }) => contains(read, slice));

/** The parts of what was read are due at `at` (epoch ms): the reading lacked rows that appeared only just before. */
export function dueAgain(list: List, read: Slice, at: number): Partial<CoverageChange> {
  const dueReason = 'it lacked rows that had just appeared';
  return { put: partsIn(list, read).map(entry => ({ ...entry, dueSince: at, dueReason })) };
}

/**
 * What could not be read at `at` (epoch ms) is due, and so is what was read but could not be acted on. That it was not offered says nothing any more,
 * and least of all that it was answered.
 */
export function dueAfterFailure(list: List, read: Slice, at: number, dueReason: string): Pick<CoverageChange, 'put'> {
  const readAt = (entry: Entry) => (entry.dueReason === NOT_OFFERED ? null : entry.readAt);
  return { put: partsIn(list, read).map(entry => ({ ...entry, readAt: readAt(entry), dueSince: at, dueReason })) };
}

/**
 * Each part that lies in what was read is proven with its own rows and changes; rows that were lacking count for the first. Where the source takes
 * rows out of its pages, the parts share the pages that it took.
 */
export function proveParts(
  list: List,
  parts: readonly { readonly entry: Entry; readonly stored: StoredCount }[],
  { at, lacked, pages = 1, isEmpty = false }: Proof,
): CoverageChange {
  const all = parts.reduce((sum, { stored }) => sum + stored.rows, 0);
  const put = parts.map(({ entry, stored: { rows, changed } }, index) => {
    const requests = Math.ceil(((pages - 1) * rows) / Math.max(all, 1));
    const next = proven(list, entry, at, { rows, changed: changed + (index === 0 ? lacked : 0) }, requests);
    return isEmpty && next.hoursWatched < EMPTY_HOURS ? { ...next, dueReason: EMPTY } : next;
  });
  return { removed: [], put };
}

/** The ranges that an interval of ids cuts, and what is left of each beside it. */
export function cutRanges(list: List, interval: IdSlice): { range: Entry & { slice: IdSlice }; rest: IdSlice[] }[] {
  return partition(list)
    .filter((entry): entry is Entry & { slice: IdSlice } => entry.slice.by === 'id')
    .map(range => ({ range, rest: subtract(range.slice, interval) }))
    .filter(({ range, rest }) => rest.every(part => sliceText(part) !== sliceText(range.slice)));
}

/**
 * The interval is proven and becomes a range of its own; what is left of the ranges it cuts keeps its proof, and its history by the
 * rows it holds. `rowsOf`: stored rows of each rest and of the interval, by the text of the slice.
 */
export function proveInterval(
  list: List,
  interval: IdSlice,
  rowsOf: ReadonlyMap<string, number>,
  { at, lacked, changed }: Proof & { readonly changed: ReadonlySet<string> },
): CoverageChange {
  const cut = cutRanges(list, interval);
  const stored = (slice: IdSlice) => rowsOf.get(sliceText(slice)) ?? 0;
  const put: Entry[] = [];
  let changedBefore = 0;
  for (const { range, rest } of cut) {
    let share = 0;
    for (const slice of rest) {
      const rows = stored(slice);
      const part = rows / Math.max(range.rows ?? rows, rows, 1);
      share += part;
      put.push({ ...range, slice, rows: range.provenAt === null ? null : rows, changed: range.changed * part });
    }
    if (range.provenAt !== null) changedBefore += range.changed * Math.max(1 - share, 0);
  }
  // Only what was proven before can be seen to change; the oldest of those proofs is what this reading renews.
  const old = cut.map(({ range }) => range).filter(({ provenAt }) => provenAt !== null);
  const news = [...changed].filter(key => old.some(({ slice }) => holdsId(slice, key))).length;
  const base: Entry = {
    slice: interval,
    provenAt: old.length > 0 ? Math.min(...old.map(({ provenAt }) => provenAt as number)) : null,
    readAt: null,
    requests: 1,
    rows: stored(interval),
    changed: changedBefore,
    hoursWatched: old.length > 0 ? old.reduce((sum, { hoursWatched }) => sum + hoursWatched, 0) / old.length : 0,
    dueSince: null,
    dueReason: null,
  };
  put.push(proven(list, base, at, { rows: stored(interval), changed: news + lacked }));
  return { removed: cut.map(({ range }) => range.slice), put };
}

/**
 * A slice that is too large is cut: each part inherits its proof and an equal share of its history. `stored`: rows of each part that are stored,
 * null if that is not known. `total`: the rows that the slice is said to have.
 */
export function splitEntry(
  list: List,
  slice: Slice,
  into: readonly { readonly slice: DateSlice; readonly stored: number | null }[],
  total: number | null,
): CoverageChange {
  const parent = list.entries.get(sliceText(slice));
  const known = into.reduce((sum, { stored }) => sum + (stored ?? 0), 0);
  const all = total ?? (into.some(({ stored }) => stored === null) ? (parent?.rows ?? pageSize(list)) : known);
  const share = Math.ceil(Math.max(all - known, 0) / into.length);
  const sized = into.map(({ slice: part, stored }) => ({ part, rows: (stored ?? 0) + share }));
  const put = sized.map(({ part, rows }) => ({
    slice: part,
    provenAt: parent?.provenAt ?? null,
    readAt: parent?.readAt ?? null,
    requests: requestsFor(list, rows),
    rows,
    changed: (parent?.changed ?? 0) / into.length,
    hoursWatched: parent?.hoursWatched ?? 0,
    dueSince: parent?.dueSince ?? null,
    dueReason: parent?.dueReason ?? null,
  }));
  return { removed: [slice], put };
}

/** Several slices asked for in one go have `total` rows, more than believed: the next try is sure to gather fewer of them. */
export function growParts(list: List, slice: Slice, total: number): CoverageChange {
  const parts = partsIn(list, slice);
  const believed = ({ rows }: Entry) => Math.max(rows ?? 1, 1);
  const growth = Math.max(total / parts.reduce((sum, entry) => sum + believed(entry), 0), 2);
  const put = parts.map(entry => ({ ...entry, rows: Math.ceil(believed(entry) * growth) }));
  return { removed: [], put };
}

/** A reading of a slice, as far as it teaches how often its rows change. */
export interface Lesson {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly changed: number;
  readonly rows: number;
  readonly requests: number;
}

/** What a reading that proved the slice adds to its history. */
export const learn = (entry: Entry, lesson: Lesson): Entry => ({
  ...learnSince(entry, entry.provenAt, lesson),
  provenAt: lesson.at,
});

/**
 * What a reading adds to a slice's history: the first teaches nothing, and what was learnt before decays. Many changes at once are a
 * single event, or the first of a new habit: few of them count, and what was known counts for half. A habit that lasts shows within some
 * readings. `since`: the reading before.
 */
export function learnSince(entry: Entry, since: number | null, { at, changed, rows, requests }: Lesson): Entry {
  const next = { ...entry, readAt: at, rows, requests };
  if (since === null) return next;
  const hours = Math.max(at - since, 0) / HOUR;
  const expected = entry.hoursWatched > 0 ? (Math.max(entry.changed, 0) * hours) / entry.hoursWatched : 0;
  const most = MOST_AT_ONCE * (1 + expected);
  const counted = Math.min(changed, most);
  // Another page of the reading before: of the first one, all rows are new.
  if (at <= since) return entry.hoursWatched === 0 ? next : { ...next, changed: entry.changed + counted };
  const kept = 0.5 ** (hours / HALF_LIFE_HOURS + (changed > most ? 1 : 0));
  const all = { changed: entry.changed * kept + counted, hoursWatched: entry.hoursWatched * kept + hours };
  const share = Math.min(MOST_EVIDENCE / Math.max(all.changed, 1), 1);
  return { ...next, changed: all.changed * share, hoursWatched: all.hoursWatched * share };
}

function proven(list: List, entry: Entry, at: number, { rows, changed }: StoredCount, took = 1): Entry {
  const requests = Math.max(requestsFor(list, rows), took);
  return { ...learn(entry, { at, changed, rows, requests }), dueSince: null, dueReason: null };
}
