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

/**
 * Rows left a targeted slice at `at`, each with its date (`days`), where it has one: the parts that may hold them, and were not proven since,
 * are due. The targeted slice has shown these changes; that a part shows them again says nothing of how often the part itself does.
 */
export function dueAfterLeaving(
  list: List,
  slice: Slice,
  at: number,
  left: { readonly keys: readonly string[]; readonly days: readonly Day[] },
): Partial<CoverageChange> {
  const heldBy = (part: Slice): number => {
    if (part.by === 'date') return left.days.filter(day => holds(part, day)).length;
    if (part.by === 'id') return left.keys.filter(key => holdsId(part, key)).length;
    return part.by === 'whole' ? left.keys.length : 0;
  };
  const dueReason = `a row left ${sliceText(slice)}`;
  const put = partition(list).flatMap(entry => {
    const held = (entry.provenAt ?? 0) < at ? heldBy(entry.slice) : 0;
    return held > 0 ? [{ ...entry, changed: entry.changed - held, dueSince: at, dueReason }] : [];
  });
  return { put };
}
