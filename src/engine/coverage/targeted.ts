import type { Entry } from '../slices/coverage-entry.ts';
import { type Day, holds } from '../slices/date-windows.ts';
import { holdsId } from '../slices/id-ranges.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import { type List, pageSize, partition, watched } from './list.ts';
import { type CoverageChange, learnSince } from './prove.ts';

/** What is known of a watched slice; null for other targeted slices, which are not kept. */
export const watchedEntry = (list: List, slice: Slice): Entry | null =>
  watched(list).find(entry => sliceText(entry.slice) === sliceText(slice)) ?? null;

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

/** Rows left a targeted slice at `at`: the parts that may hold them, and were not proven since, are due. */
export function dueAfterLeaving(
  list: List,
  slice: Slice,
  at: number,
  left: { readonly keys: readonly string[]; readonly days: readonly Day[] },
): Partial<CoverageChange> {
  const mayHold = (part: Slice): boolean => {
    if (part.by === 'date') return left.days.some(day => holds(part, day));
    return part.by === 'whole' || (part.by === 'id' && left.keys.some(key => holdsId(part, key)));
  };
  const due = partition(list).filter(({ slice: part, provenAt }) => (provenAt ?? 0) < at && mayHold(part));
  const dueReason = `a row left ${sliceText(slice)}`;
  return { put: due.map(entry => ({ ...entry, dueSince: at, dueReason })) };
}
