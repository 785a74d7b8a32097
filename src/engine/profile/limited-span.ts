import { type Day, daysApart, isBeyondWindows, within } from '../slices/date-windows.ts';
import { type DateSlice, sliceText } from '../slices/slice.ts';
import type { Observation } from './observation.ts';
import type { SourceProfile } from './source-profile.ts';

/** The first and the last day of what a reading has shown. */
export interface ShownDays {
  readonly first: Day;
  readonly last: Day;
}

export function withDays(shown: ShownDays | null, days: readonly Day[]): ShownDays | null {
  let [first, last] = [shown?.first, shown?.last];
  for (const day of days) {
    if (first === undefined || day < first) first = day;
    if (last === undefined || day > last) last = day;
  }
  return first === undefined || last === undefined ? null : { first, last };
}

/** The days that a window is asked for by; null where it is open. */
type Asked = Pick<DateSlice, 'from' | 'to'>;

/** How far a day is from each bound, by how the bound is asked for: a source may limit a filter only with both dates, or only with one. */
function distances({ from, to }: Asked, { first, last }: ShownDays): { bound: string; days: number }[] {
  const prefix = from !== null && to !== null ? 'both ' : '';
  return [
    ...(from === null ? [] : [{ bound: `${prefix}from`, days: daysApart(from, last) }]),
    ...(to === null ? [] : [{ bound: `${prefix}to`, days: daysApart(first, to) }]),
  ];
}

/** A filter that has shown a row so far from a bound is not limited to fewer days from there. Half as far again is worth noting. */
export function observeDaysShown({ daysShown }: SourceProfile, asked: Asked, shown: ShownDays | null): Observation[] {
  if (shown === null) return [];
  return distances(asked, shown)
    .filter(({ bound, days }) => days > 0 && 2 * days >= 3 * (daysShown.get(bound) ?? 0))
    .map(({ bound, days }) => ({
      trait: `days shown ${bound}` as const,
      value: `${days}` as const,
      evidence: `asked for ${asked.from ?? ''}..${asked.to ?? ''}, got rows of ${shown.first} to ${shown.last}`,
    }));
}

/**
 * A source may filter by so many days at most, from the first that was asked for or up to the last, and not say so. A row of this day may have
 * been left out by that: none was shown beyond it, and no reading has shown a row as far from a bound.
 */
export function mayBeLeftOut(asked: Asked, day: Day, shown: ShownDays | null, { daysShown }: SourceProfile): boolean {
  if ((asked.from !== null && day < asked.from) || (asked.to !== null && day > asked.to)) return false;
  // Few rows are so far away, and an open past would be cut year by year until it reaches them.
  if (isBeyondWindows(day)) return false;
  if (shown !== null && shown.first <= day && day <= shown.last) return false;
  return distances(asked, { first: day, last: day }).some(({ bound, days }) => days > (daysShown.get(bound) ?? 0));
}

/** Windows that are remembered. */
const MOST_NOTED = 20;

/** So many rows that windows left out show that the source limits its filter. */
const LEAST_LEFT_OUT = 5;

/** Rows that the reading of a window lacked though the filter may only have left them out, and those that a shorter window has shown since. */
export interface LeftOut {
  readonly window: DateSlice;
  /** Rows that came without a count; null if they were counted. */
  readonly uncounted: number | null;
  readonly keys: ReadonlySet<string>;
  readonly shown: ReadonlySet<string>;
}

export const noteLeftOut = (known: readonly LeftOut[], noted: Omit<LeftOut, 'shown'>): readonly LeftOut[] =>
  [
    ...known.filter(each => sliceText(each.window) !== sliceText(noted.window)),
    { ...noted, shown: new Set<string>() },
  ].slice(-MOST_NOTED);

/** What a reading of `window` has shown of rows that others left out. */
export const withShown = (known: readonly LeftOut[], window: DateSlice, keys: readonly string[]): readonly LeftOut[] =>
  known.map(each => {
    const shown = isShorter(window, each.window) ? keys.filter(key => each.keys.has(key)) : [];
    return shown.length === 0 ? each : { ...each, shown: new Set([...each.shown, ...shown]) };
  });

/** A filter that leaves out rows is not used any more. One window alone may have been a faulty response. */
export function observeLeftOut(known: readonly LeftOut[]): Observation[] {
  const proven = known
    .filter(({ shown }) => shown.size > 0)
    .filter((each, index, all) => !all.slice(0, index).some(other => mayBeOne(each, other)));
  const rows = new Set(proven.flatMap(({ shown }) => [...shown])).size;
  if (proven.length < 2 || rows < LEAST_LEFT_OUT) return [];
  const windows = proven.map(({ window }) => `"${sliceText(window)}"`).join(' and ');
  return [
    { trait: 'date filter', value: 'ignored', evidence: `${windows} left out ${rows} rows that shorter windows show` },
  ];
}

/** Equally long without a count: both may be cut off by one cap. */
const mayBeOne = (a: LeftOut, b: LeftOut): boolean => a.uncounted !== null && a.uncounted === b.uncounted;

const isShorter = (window: DateSlice, other: DateSlice): boolean =>
  within(window, other.from, other.to) && sliceText(window) !== sliceText(other);
