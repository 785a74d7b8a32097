import { slicingOf } from '../job.ts';
import { mayBeLimited } from '../profile/answer-weight.ts';
import { mostBelieved } from '../profile/list-end.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { lengthInDays } from '../slices/date-windows.ts';
import type { DateSlice } from '../slices/slice.ts';
import { type List, partition } from './list.ts';

/** So many rows are believed of a list that are all of one day: nothing else that could be asked would show more. */
const MOST_ALONE = 19;

type Window = Entry & { readonly slice: DateSlice };

/** Rows that a reading of the window may show to be believed, if the source gives it no count. */
export function mostUncounted(list: List, window: DateSlice): number {
  if (window.from === null && window.to === null) return 0;
  const most = mostBelieved(longestOf(list));
  return Math.max(most, mostAlone(list, window));
}

/** So many rows are believed whatever other readings showed. */
export const mostAlone = (list: List, window: DateSlice): number => (isAlone(list, window) ? MOST_ALONE : 0);

/** A day, and every other window was seen to have no rows. */
export const isAlone = (list: List, window: DateSlice): boolean =>
  lengthInDays(window) === 1 && others(list, window).length === 0;

/** The source counts the rows of windows, as far as is known. */
export const countsWindows = (list: List): boolean => longestOf(list) === undefined && list.total !== null;

/** An answer of so many rows, of those believed, is lighter than one that may have been cut off by its weight, unless its rows are heavier. */
const LIGHT_SHARE = 0.85;

/** Rows that several windows may have to be read together: without limit where the source counts them. */
export function mostTogether(list: List): number {
  if (countsWindows(list)) return Number.POSITIVE_INFINITY;
  const most = mostBelieved(longestOf(list));
  return mayBeLimited(list.profile.longest, fieldOf(list)) ? Math.floor(LIGHT_SHARE * most) : most;
}

/** Without a count, so many rows of this window would not be believed. */
export const isDoubtful = (list: List, window: DateSlice, rows: number): boolean =>
  rows > mostTogether(list) && rows > mostUncounted(list, window);

/**
 * A day that may have been cut off is asked for together with the nearest window that has rows: if the source shows more rows than ever, it
 * did not cut off the day. Null for a longer window, and where no other has rows.
 */
export function measureOf(list: List, window: DateSlice): DateSlice | null {
  if (lengthInDays(window) > 1) return null;
  const apart = ({ slice }: Window) => {
    const [older, newer] = inOrder(slice, window);
    return Date.parse(newer.from ?? '') - Date.parse(older.to ?? '');
  };
  const [nearest] = others(list, window)
    .filter(({ rows }) => rows !== null && rows > 0)
    .sort((a, b) => apart(a) - apart(b));
  if (nearest === undefined) return null;
  const [older, newer] = inOrder(nearest.slice, window);
  return { by: 'date', from: older.from, to: newer.to };
}

/** The other windows of the list, without those that were seen to have no rows. */
const others = (list: List, window: DateSlice): Window[] =>
  partition(list).filter(
    (entry): entry is Window =>
      entry.slice.by === 'date' &&
      (entry.slice.from !== window.from || entry.slice.to !== window.to) &&
      (entry.provenAt === null || entry.rows !== 0),
  );

const fieldOf = ({ job }: List): string => slicingOf(job, 'date')?.field ?? '';

const longestOf = (list: List): number | undefined => list.profile.longest.get(fieldOf(list));

const inOrder = (a: DateSlice, b: DateSlice) =>
  (a.from ?? '') < (b.from ?? '') ? ([a, b] as const) : ([b, a] as const);
