import { type List, pageSize } from '../coverage/list.ts';
import { isDoubtful, measureOf, mostTogether } from '../coverage/uncounted.ts';
import { isSingleBody } from '../profile/strategy.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { daysApart } from '../slices/date-windows.ts';
import { byIds } from '../slices/id-ranges.ts';
import { type DateSlice, type IdSlice, overlap, sliceText } from '../slices/slice.ts';
import { type Choice, type ListInUse, MOST_PAGES, type Next } from './choice.ts';

/** Neighbours that are due too are read in the same chain of answers. `chain`: the task may read more than one answer of it. */
export function chainIds(
  list: ListInUse,
  best: Entry & { slice: IdSlice },
  due: readonly Entry[],
  counted: boolean,
  chain: boolean,
): Next {
  if (list.reading.size > 0) return 'blocked';
  if (!chain) return { slice: best.slice, answers: 1, gathered: false, counted };
  const descending = list.profile.order !== 'id-asc';
  const ranges = due.map(entry => entry.slice as IdSlice).sort(byIds(descending));
  let { from, to } = best.slice;
  let rows = best.rows ?? Number.POSITIVE_INFINITY;
  const size = pageSize(list);
  const most = MOST_PAGES * size;
  for (const next of ranges.slice(ranges.indexOf(best.slice) + 1)) {
    const adjacent = descending
      ? next.to !== null && from !== null && next.to === from - 1n
      : next.from !== null && to !== null && next.from === to + 1n;
    if (!adjacent || rows >= most) break;
    if (descending) from = next.from;
    else to = next.to;
    rows += due.find(entry => entry.slice === next)?.rows ?? most;
  }
  const answers = Number.isFinite(rows) ? Math.min(Math.ceil((rows * 1.1) / size) + 1, MOST_PAGES) : MOST_PAGES;
  return { slice: { by: 'id', from, to }, answers, gathered: true, counted };
}

type Window = Entry & { slice: DateSlice };

/** Neighbouring windows that are due too are asked for together, as far as they fit into one reading. `done`: what the task has read. */
export function gatherDates(
  list: ListInUse,
  best: Window,
  due: readonly Entry[],
  { counted, done }: { counted: boolean; done: ReadonlySet<string> },
): Next {
  const alone: Next = { slice: best.slice, answers: MOST_PAGES, gathered: false, counted };
  const measure = measureLength(list, best, { counted, done });
  if (measure) return [...list.reading].some(each => overlap(each, measure.slice)) ? 'blocked' : measure;
  const pages = isSingleBody(list.profile) || list.profile.ids === 'no' ? 1 : MOST_PAGES;
  const most = Math.min(pages * pageSize(list) * 0.85, mostTogether(list));
  if (best.rows === null || best.rows > most) return alone;
  const windows = due
    .filter((entry): entry is Window => entry.slice.by === 'date')
    .sort((a, b) => ((a.slice.from ?? '') < (b.slice.from ?? '') ? -1 : 1));
  let first = windows.findIndex(entry => entry.slice === best.slice);
  let last = first;
  let rows = best.rows;
  const fits = (entry: Window | undefined) => entry?.rows != null && rows + entry.rows <= most;
  // Older neighbours first: what is newer was read before.
  while (fits(windows[first - 1]) && meets(windows[first - 1], windows[first])) rows += windows[--first]?.rows ?? 0;
  while (fits(windows[last + 1]) && meets(windows[last], windows[last + 1])) rows += windows[++last]?.rows ?? 0;
  if (first === last) return alone;
  const slice: DateSlice = {
    by: 'date',
    from: windows[first]?.slice.from ?? null,
    to: windows[last]?.slice.to ?? null,
  };
  return { slice, answers: MOST_PAGES, gathered: true, counted };
}

/** Whether the source shows more rows at once than it ever did, where that was not asked and would show that it did not cut off the day. */
export function measureLength(
  list: List,
  { slice, rows }: Entry,
  { counted, done }: { counted: boolean; done: ReadonlySet<string> },
): Choice | null {
  const measure = slice.by === 'date' && isDoubtful(list, slice, rows ?? 0) ? measureOf(list, slice) : null;
  if (measure === null || done.has(sliceText(measure))) return null;
  return { slice: measure, answers: MOST_PAGES, gathered: false, counted, asks: 'length' };
}

function meets(a: Window | undefined, b: Window | undefined): boolean {
  const end = a?.slice.to;
  const start = b?.slice.from;
  return typeof end === 'string' && typeof start === 'string' && daysApart(end, start) === 1;
}
