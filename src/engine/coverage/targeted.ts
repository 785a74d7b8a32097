import { type Day, holds } from '../slices/date-windows.ts';
import { holdsId } from '../slices/id-ranges.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import { type List, pageSize, partition, watched } from './list.ts';
import type { CoverageChange } from './prove.ts';

/** What is known of a watched slice once it was read at `at` (epoch ms) and showed so many rows; other targeted slices are not kept. */
export function readTargeted(list: List, slice: Slice, at: number, rows: number): Partial<CoverageChange> {
  const text = sliceText(slice);
  const known = watched(list).find(entry => sliceText(entry.slice) === text);
  if (!known) return {};
  return { put: [{ ...known, readAt: at, requests: Math.max(Math.ceil(rows / pageSize(list)), 1), rows }] };
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
