import { type List, pageSize, partition, requestsFor } from '../coverage/list.ts';
import { type CoverageChange, contains } from '../coverage/prove.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { addDays, type Day } from '../slices/date-windows.ts';
import { type DateSlice, overlap, type Slice } from '../slices/slice.ts';
import { changeRate, type Prior, pooledPrior } from './change-rates.ts';
import { cheapestCut, type DayRows, pagesFor, rootOf } from './cheapest-cut.ts';

/** A new cut must be so much better than the one there is: windows that are put together count as read when the first of them was. */
const WORTH = 0.97;

type Window = Entry & { readonly slice: DateSlice & { readonly from: Day }; readonly provenAt: number };

/** A day of a window. Rows that are dated later than today count for the last. */
interface DayOf extends DayRows {
  readonly day: Day;
  readonly window: Window;
  /** Its share of the window's rows. */
  readonly share: number;
}

interface CutFacts {
  readonly today: Day;
  readonly now: number;
  /** Stored rows of each day that has any, from `firstDayToCount` on. */
  readonly rowsOn: ReadonlyMap<Day, number>;
  /** Slices that others refer to: they stay as they are. */
  readonly keep: readonly Slice[];
}

/**
 * Cuts the windows of a list anew, so that its changes arrive as soon as possible with whatever is spent on it: apart where their rates differ,
 * together where that saves requests. Asks the source nothing: the parts of a window are as proven as it was. Null if little is to be gained.
 */
export function cutWindows(list: List, { today, now, rowsOn, keep }: CutFacts): CoverageChange | null {
  const before = movable(list, keep);
  const prior = pooledPrior(list.entries.values(), now);
  const after = neighbours(before).flatMap(region => {
    const days = region.flatMap(window => daysOf(window, today, rowsOn, prior));
    return windowsFrom(list, days, cheapestCut(days, pageSize(list)), (region.at(-1) as Window).slice.to);
  });
  const needs = (windows: readonly Window[]) =>
    windows.reduce((sum, each) => sum + rootOf(changeRate(each, prior), pagesFor(each.rows ?? 0, pageSize(list))), 0);
  if (needs(after) >= WORTH * needs(before)) return null;
  const isSame = (a: Window) => (b: Window) => a.slice.from === b.slice.from && a.slice.to === b.slice.to;
  const removed = before.filter(window => !after.some(isSame(window))).map(({ slice }) => slice);
  return { removed, put: after.filter(window => !before.some(isSame(window))) };
}

/**
 * Cuts these days out of windows of several pages, so that only they need to be read; null where that saves nothing. The next new cut puts together
 * what belongs together.
 */
export function cutOut(
  list: List,
  named: readonly DateSlice[],
  { today, now, rowsOn, keep }: CutFacts,
): CoverageChange | null {
  const prior = pooledPrior(list.entries.values(), now);
  const bounds = new Set(named.flatMap(({ from, to }) => [from, to && addDays(to, 1)].filter(day => day !== null)));
  const isNamed = (day: Day) => named.some(({ from, to }) => (from ?? day) <= day && day <= (to ?? day));
  const after = windowsToCut(list, keep, named).flatMap(window => {
    const days = daysOf(window, today, rowsOn, prior, bounds);
    const starts = days.flatMap(({ day }, index) =>
      index === 0 || isNamed(day) !== isNamed((days[index - 1] as DayOf).day) ? index : [],
    );
    const parts = windowsFrom(list, days, starts, window.slice.to);
    const read = parts.filter(({ slice }) => named.some(each => overlap(each, slice)));
    return read.reduce((sum, { requests }) => sum + requests, 0) < window.requests ? [{ window, parts }] : [];
  });
  if (after.length === 0) return null;
  return { removed: after.map(({ window }) => window.slice), put: after.flatMap(({ parts }) => parts) };
}

/** The days whose stored rows tell where to cut: all, or those that cut out the named ones; null where nothing can be. */
export function daysToCount(list: List, keep: readonly Slice[], named?: readonly DateSlice[]): DateSlice | null {
  const windows = named === undefined ? movable(list, keep) : windowsToCut(list, keep, named);
  const [first, last] = [windows[0], windows.at(-1)];
  return first && last ? { by: 'date', from: first.slice.from, to: last.slice.to } : null;
}

const windowsToCut = (list: List, keep: readonly Slice[], named: readonly DateSlice[]): Window[] =>
  movable(list, keep).filter(
    ({ slice, requests }) => requests > 1 && named.some(days => overlap(days, slice) && !contains(days, slice)),
  );

/** The days grouped from each of these indices on; the last window ends at `last`. */
const windowsFrom = (list: List, days: readonly DayOf[], starts: readonly number[], last: Day | null): Window[] =>
  starts.map((start, index) => {
    const next = days[starts[index + 1] ?? days.length];
    return windowOf(list, days.slice(start, starts[index + 1]), next ? addDays(next.day, -1) : last);
  });

/** Windows in the order of their days, those without a beginning left out; all of them must have been read. */
function movable(list: List, keep: readonly Slice[]): Window[] {
  const parts = partition(list);
  if (list.strategy.partition !== 'date' || list.strategy.membership !== 'date' || !showsItsPages(list)) return [];
  if (parts.some(({ provenAt }) => provenAt === null)) return [];
  return parts
    .filter((entry): entry is Window => entry.slice.by === 'date' && entry.slice.from !== null)
    .filter(
      ({ slice, dueSince, dueReason }) =>
        dueSince === null && dueReason === null && !keep.some(each => overlap(each, slice)),
    )
    .sort((a, b) => (a.slice.from < b.slice.from ? -1 : 1));
}

/** Several pages of a list without a count or without ids may not add up: the reader cuts such windows by itself. */
const showsItsPages = ({ profile: { paging, counts, ids, pageSize: rows } }: List): boolean =>
  paging === null && (counts === null || counts === 'unfiltered') && ids !== 'no' && rows !== null;

/** Windows that follow each other without a gap. */
function neighbours(windows: readonly Window[]): Window[][] {
  const regions: Window[][] = [];
  for (const window of windows) {
    const last = regions.at(-1)?.at(-1)?.slice.to ?? null;
    if (last !== null && addDays(last, 1) === window.slice.from) regions.at(-1)?.push(window);
    else regions.push([window]);
  }
  return regions;
}

/** The first day of a window, those that have rows, and those at `bounds`. Its rate is theirs, by what is usual at their age. */
function daysOf(
  window: Window,
  today: Day,
  rowsOn: ReadonlyMap<Day, number>,
  prior: Prior,
  bounds: ReadonlySet<Day> = new Set(),
): DayOf[] {
  const { slice } = window;
  const days = [{ day: slice.from, rows: rowsOn.get(slice.from) ?? 0 }];
  const last = slice.to === null || slice.to > today ? today : slice.to;
  for (let day = addDays(slice.from, 1); day <= last; day = addDays(day, 1)) {
    const rows = rowsOn.get(day) ?? 0;
    if (rows > 0 || bounds.has(day)) days.push({ day, rows });
  }
  const share = shareOf(days.map(({ rows }) => rows));
  const usual = shareOf(
    days.map(({ day, rows }) => rows * prior({ ...window, slice: { by: 'date', from: day, to: day } })),
  );
  const rate = changeRate(window, prior);
  return days.map((each, index) => ({ ...each, window, share: share(index), rate: rate * usual(index) }));
}

/** The share of each in the sum of all; the first is all where there is none. */
function shareOf(values: readonly number[]): (index: number) => number {
  const all = values.reduce((sum, each) => sum + each, 0);
  return index => (all > 0 ? (values[index] as number) / all : index === 0 ? 1 : 0);
}

/** A group of days as a window of its own, with its share of what is known of those that it is cut from. */
function windowOf(list: List, days: readonly DayOf[], to: Day | null): Window {
  const [first] = days as [DayOf, ...DayOf[]];
  const rows = days.reduce((sum, each) => sum + each.rows, 0);
  const oldest = (value: (window: Window) => number) => Math.min(...days.map(({ window }) => value(window)));
  const changed = days.reduce((sum, { window, share }) => sum + window.changed * share, 0);
  const hours = days.reduce((sum, { window, rows }) => sum + window.hoursWatched * rows, 0);
  return {
    ...first.window,
    slice: { by: 'date', from: first.day, to },
    provenAt: oldest(({ provenAt }) => provenAt),
    readAt: oldest(({ readAt }) => readAt ?? 0),
    rows,
    requests: requestsFor(list, rows),
    changed,
    hoursWatched: rows > 0 ? hours / rows : first.window.hoursWatched,
  };
}
