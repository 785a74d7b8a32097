import { type List, pageSize } from '../coverage/list.ts';
import { countsWindows, isDoubtful, measureOf, mostTogether } from '../coverage/uncounted.ts';
import { isIdOrdered, isSingleBody } from '../profile/strategy.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { daysApart } from '../slices/date-windows.ts';
import { byIds } from '../slices/id-ranges.ts';
import { type DateSlice, type IdSlice, sliceText } from '../slices/slice.ts';
import { type Choice, MOST_PAGES, single } from './choice.ts';

type Range = Entry & { slice: IdSlice };

/** Neighbours that are due too are read in the same chain of answers. */
export function chainIds(list: List, best: Range, due: readonly Entry[]): Choice {
  const descending = list.profile.order !== 'id-asc';
  const inOrder = byIds(descending);
  const ranges = (due as readonly Range[]).toSorted((a, b) => inOrder(a.slice, b.slice));
  let { from, to } = best.slice;
  let rows = best.rows ?? Number.POSITIVE_INFINITY;
  const size = pageSize(list);
  const most = MOST_PAGES * size;
  for (const next of ranges.slice(ranges.indexOf(best) + 1)) {
    const isNext = descending
      ? from !== null && next.slice.to === from - 1n
      : to !== null && next.slice.from === to + 1n;
    if (!isNext || rows >= most) break;
    if (descending) from = next.slice.from;
    else to = next.slice.to;
    rows += next.rows ?? most;
  }
  const answers = Math.min(Math.ceil((rows * 1.1) / size) + 1, MOST_PAGES);
  return { ...single({ by: 'id', from, to }), answers, gathered: true };
}

type Window = Entry & { slice: DateSlice };

/** A reading of several pages can add up, rather than be cut: rows have ids, and a count or the order tells those that slip between pages. */
const addsUpOverPages = (list: List): boolean =>
  !isSingleBody(list.profile) && list.profile.ids !== 'no' && (countsWindows(list) || isIdOrdered(list.profile));

/** Neighbouring windows that are due too are asked for together, as far as they fit into one reading. `done`: what the task has read. */
export function gatherDates(list: List, best: Window, due: readonly Entry[], done: ReadonlySet<string>): Choice {
  const alone = byItself(list, best, done);
  if (alone.asks) return alone;
  const pages = addsUpOverPages(list) ? MOST_PAGES : 1;
  const most = Math.min(pages * pageSize(list) * 0.85, mostTogether(list));
  // As many rows as fit into the pages that the window took: some sources take rows out of their pages.
  const rowsOf = (entry: Entry | undefined) =>
    entry?.rows == null ? Number.POSITIVE_INFINITY : Math.max(entry.rows, (entry.requests - 1) * pageSize(list));
  let rows = rowsOf(best);
  if (rows > most) return alone;
  const windows = due
    .filter((entry): entry is Window => entry.slice.by === 'date')
    .sort((a, b) => ((a.slice.from ?? '') < (b.slice.from ?? '') ? -1 : 1));
  let first = windows.findIndex(entry => entry.slice === best.slice);
  let last = first;
  // Older neighbours first: what is newer was read before.
  const extend = (mayJoin: (entry: Window) => boolean) => {
    const joins = (entry: Window | undefined) => entry !== undefined && mayJoin(entry) && rows + rowsOf(entry) <= most;
    while (joins(windows[first - 1]) && meets(windows[first - 1], windows[first])) rows += rowsOf(windows[--first]);
    while (joins(windows[last + 1]) && meets(windows[last], windows[last + 1])) rows += rowsOf(windows[++last]);
  };
  // What was read together is asked for together again, so that the same answers may come; further ones only where much room is left.
  extend(({ provenAt }) => provenAt !== null && provenAt === best.provenAt);
  if (first === last || rows < most / 2) extend(() => true);
  if (first === last) return alone;
  const [{ slice: older }, { slice: newer }] = [windows[first] as Window, windows[last] as Window];
  return { ...single({ by: 'date', from: older.from, to: newer.to }), gathered: true };
}

/**
 * The slice by itself. A day that may be cut off is first asked for together with its neighbours, unless the task has done that: if the source
 * shows more rows at once than it ever did, it did not cut off the day.
 */
export function byItself(list: List, { slice, rows }: Entry, done: ReadonlySet<string>): Choice {
  const measure = slice.by === 'date' && isDoubtful(list, slice, rows ?? 0) ? measureOf(list, slice) : null;
  return measure === null || done.has(sliceText(measure)) ? single(slice) : { ...single(measure), asks: 'length' };
}

const meets = (a: Window | undefined, b: Window | undefined): boolean =>
  a?.slice.to != null && b?.slice.from != null && daysApart(a.slice.to, b.slice.from) === 1;
