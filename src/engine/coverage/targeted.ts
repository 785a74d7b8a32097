import { stampMs } from '../../clock.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { holdsId } from '../slices/id-ranges.ts';
import { type DateSlice, overlap, type Slice, sliceText } from '../slices/slice.ts';
import { type List, newestEnd, pageSize, partition, watched } from './list.ts';
import { type CoverageChange, learnSince } from './prove.ts';

/** What is known of a watched slice; null for other targeted slices, which are not kept. */
export const watchedEntry = (list: List, slice: Slice): Entry | null =>
  watched(list).find(entry => sliceText(entry.slice) === sliceText(slice)) ?? null;

/** Whether the lists of watched values have a say in deletions: where no other list or address confirms them. */
export const confirmsByWatched = ({ strategy: { confirmation, watched } }: List): boolean =>
  (confirmation === 'neighbours' || confirmation === 'cover') && watched.some(({ by }) => by === 'value');

/** Whether a missing row is asked for beside its own place before its neighbours confirm: by the watched values, or at the newest end. */
export const asksBeside = (list: List): boolean => confirmsByWatched(list) || confirmsByNewest(list);

/**
 * What has to lack a missing row, too, and was not read since it went missing; null where there is nothing. The list of a watched value may show
 * what the list itself leaves out, such as open tickets of last year; the newest end may show a row that has left the order of ids, and counts it.
 */
export function unreadBeside(
  list: List,
  { since, watched: value = null }: { readonly since: string; readonly watched?: Slice | null },
): Slice | null {
  const isRead = (at: number | null | undefined) => (at ?? 0) > stampMs(since);
  if (value !== null && confirmsByWatched(list) && !isRead(watchedEntry(list, value)?.readAt)) return value;
  if (!confirmsByNewest(list)) return null;
  const newest = newestEnd(list);
  // Until the first answer of a loop, the source may count.
  return isRead(list.total === null ? newest.readAt : list.accountedAt) ? null : newest.slice;
}

/** Where an answer of the newest end has a say in deletions. */
export const confirmsByNewest = ({ strategy }: List): boolean => strategy.confirmation === 'neighbours';

/** A watched slice was read at `at` (epoch ms), and showed so many rows. */
export function readTargeted(
  list: List,
  entry: Entry,
  read: { readonly at: number; readonly rows: number; readonly changed: number },
): Partial<CoverageChange> {
  const before = entry.readAt === read.at ? entry.requests : 0;
  const requests = before + Math.max(Math.ceil(read.rows / pageSize(list)), 1);
  return { put: [learnSince(entry, entry.readAt, { ...read, requests })] };
}

/**
 * Rows left a targeted slice that was read at `at`, or it shows them otherwise and not in full. Each comes with its day, or the days that showed it
 * (`days`): the parts that may hold them, and were not proven since `dueAt`, are due then. What is due later than `at` already stays so, or repeated
 * readings would put it off for ever. The targeted slice has shown these changes; that a part shows them again says nothing of how often the part
 * itself does.
 */
export function dueAfterLeaving(
  list: List,
  slice: Slice,
  { at, dueAt = at }: { readonly at: number; readonly dueAt?: number },
  left: { readonly keys: readonly string[]; readonly days: readonly DateSlice[] },
  dueReason = `a row left ${sliceText(slice)}`,
): Partial<CoverageChange> {
  const leftFrom = (part: Slice): number => {
    if (part.by === 'date') return left.days.filter(days => overlap(part, days)).length;
    if (part.by === 'id') return left.keys.filter(key => holdsId(part, key)).length;
    return part.by === 'whole' ? left.keys.length : 0;
  };
  const put = partition(list).flatMap(entry => {
    const count = (entry.provenAt ?? 0) < dueAt ? leftFrom(entry.slice) : 0;
    if (count === 0) return [];
    const dueSince = (entry.dueSince ?? 0) > at ? entry.dueSince : dueAt;
    return [{ ...entry, changed: entry.changed - count, dueSince, dueReason }];
  });
  return { put };
}
