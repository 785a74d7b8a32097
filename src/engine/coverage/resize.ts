import type { Entry } from '../slices/coverage-entry.ts';
import { addDays, type Day, lengthInDays } from '../slices/date-windows.ts';
import { type DateSlice, overlap, type Slice } from '../slices/slice.ts';
import { type List, pageSize, partition, requestsFor } from './list.ts';
import type { CoverageChange } from './prove.ts';

/** Among rows younger than this, how often they change depends much on their age. */
const YOUNG_DAYS = 90;
/** Pages of a window. Reading one alone costs little more than its share, and the rest of it is as likely to have changed. */
const YOUNG_PAGES = 1;
const OLD_PAGES = 5;
/** A window is left alone until it holds so many times what it should. */
const TOO_LARGE = 2;

type Window = Entry & { readonly slice: DateSlice; readonly provenAt: number };

/**
 * Cuts the windows of a list so that each is worth a reading of its own: young rows page by page, as their rates differ; older ones in fewer
 * readings, since a page that is not full costs as much as one that is. Asks the source nothing: the parts of a window are as proven as it
 * was. Null if nothing is to be changed. `rowsOn`: stored rows of each day of `daysToCount`. `keep`: slices that others refer to.
 */
export function resizeWindows(
  list: List,
  { today, rowsOn, keep }: { today: Day; rowsOn: ReadonlyMap<Day, number>; keep: readonly Slice[] },
): CoverageChange | null {
  const before = movable(list, keep);
  const cut = before.flatMap(window => split(list, window, today, rowsOn));
  const after = merge(list, cut, today);
  const removed = before.filter(window => !after.includes(window)).map(({ slice }) => slice);
  const put = after.filter(window => !before.includes(window));
  return put.length === 0 ? null : { removed, put };
}

/** The days whose stored rows tell where to cut; null where no window is too large. */
export function daysToCount(list: List, today: Day, keep: readonly Slice[]): { from: Day; to: Day } | null {
  const large = movable(list, keep).filter(window => isTooLarge(list, window, today));
  if (large.length === 0) return null;
  const starts = large.map(({ slice }) => slice.from as Day).sort();
  const ends = large.map(({ slice }) => lastDay(slice, today)).sort();
  return { from: starts[0] as Day, to: ends.at(-1) as Day };
}

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
    .sort((a, b) => ((a.slice.from as Day) < (b.slice.from as Day) ? -1 : 1));
}

/** Several pages of a list without a count or without ids may not add up: the reader cuts such windows by itself. */
const showsItsPages = ({ profile: { paging, counts, ids, pageSize: rows } }: List): boolean =>
  paging === null && (counts === null || counts === 'unfiltered') && ids !== 'no' && rows !== null;

/** Rows that a window whose last day is `day` should hold at most. */
function rowsWanted(list: List, day: Day, today: Day): number {
  const isYoung = day > addDays(today, -YOUNG_DAYS);
  return pageSize(list) * (isYoung ? YOUNG_PAGES : OLD_PAGES);
}

/** The last day that counts: rows of the future are few. */
const lastDay = ({ to }: DateSlice, today: Day): Day => (to === null || to > today ? today : to);

function isTooLarge(list: List, { slice, rows }: Window, today: Day): boolean {
  const end = lastDay(slice, today);
  return (slice.from as Day) < end && (rows ?? 0) >= TOO_LARGE * rowsWanted(list, end, today);
}

/** Days go together until they hold a window's rows. */
function split(list: List, window: Window, today: Day, rowsOn: ReadonlyMap<Day, number>): Window[] {
  if (!isTooLarge(list, window, today)) return [window];
  const { from, to } = window.slice;
  const end = lastDay(window.slice, today);
  const groups: { from: Day; to: Day; rows: number }[] = [];
  for (let day = from as Day; day <= end; day = addDays(day, 1)) {
    const rows = rowsOn.get(day) ?? 0;
    const last = groups.at(-1);
    if (last && last.rows + rows <= rowsWanted(list, day, today))
      Object.assign(last, { to: day, rows: last.rows + rows });
    else groups.push({ from: day, to: day, rows });
  }
  if (groups.length === 1) return [window];
  const total = Math.max(
    groups.reduce((sum, { rows }) => sum + rows, 0),
    1,
  );
  return groups.map((group, index): Window => {
    const isLast = index === groups.length - 1;
    const slice: DateSlice = { by: 'date', from: group.from, to: isLast ? to : group.to };
    const { rows } = group;
    return { ...window, slice, rows, requests: requestsFor(list, rows), changed: (window.changed * rows) / total };
  });
}

/** Neighbours become one while both together hold no more than one should. */
function merge(list: List, windows: readonly Window[], today: Day): Window[] {
  const merged: Window[] = [];
  for (const window of windows) {
    const last = merged.at(-1);
    if (last && areNeighbours(last.slice, window.slice) && fitsOne(list, last, window, today))
      merged[merged.length - 1] = together(list, last, window);
    else merged.push(window);
  }
  return merged;
}

const areNeighbours = (a: DateSlice, b: DateSlice): boolean => a.to !== null && addDays(a.to, 1) === b.from;

const fitsOne = (list: List, a: Window, b: Window, today: Day): boolean =>
  Number.isFinite(lengthInDays(b.slice)) && (a.rows ?? 0) + (b.rows ?? 0) <= rowsWanted(list, b.slice.to as Day, today);

function together(list: List, a: Window, b: Window): Window {
  const rows = (a.rows ?? 0) + (b.rows ?? 0);
  const weighed = (value: (window: Window) => number) =>
    rows === 0 ? (value(a) + value(b)) / 2 : (value(a) * (a.rows ?? 0) + value(b) * (b.rows ?? 0)) / rows;
  return {
    ...b,
    slice: { by: 'date', from: a.slice.from, to: b.slice.to },
    provenAt: Math.min(a.provenAt, b.provenAt),
    readAt: Math.min(a.readAt ?? 0, b.readAt ?? 0),
    rows,
    requests: requestsFor(list, rows),
    changed: a.changed + b.changed,
    hoursWatched: weighed(({ hoursWatched }) => hoursWatched),
  };
}
