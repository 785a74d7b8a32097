import { HOUR } from '../../clock.ts';
import { type List, partition } from '../coverage/list.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import {
  type DateRange,
  type Day,
  lengthInDays,
  monthBefore,
  monthRange,
  overlapDays,
  within,
} from '../slices/date-windows.ts';
import { sliceText, type TotalSlice } from '../slices/slice.ts';
import { single } from './choice.ts';
import type { Unscored } from './worth.ts';

/** A month that costs less than this to read is sooner read than asked for. */
const LEAST_COST = 2;
/** How far back totals are asked for. */
const MOST_MONTHS = 240;
/** The share of changes that a total shows: it tells nothing of texts, nor of amounts that make up for each other. */
const SHOWN = 0.8;

/** Changes that may still hide in a month that disagreed and was read since. People see that it disagreed until it is asked again. */
const LIKELY_LEFT = 0.1;

/** The months whose control total can be asked for: one request that may tell that none of their rows has changed. */
export function totalQuestions(list: List, rateOf: (entry: Entry) => number, today: Day, now: number): Unscored[] {
  const trust = list.profile.controlTotals;
  if (!list.job.control || list.strategy.partition !== 'date' || (trust !== null && trust !== 'agree')) return [];
  const parts = partition(list);
  const months = monthsBack(parts, today);
  const partsIn = byMonth(parts, months);
  return months.flatMap(month => {
    const slice: TotalSlice = { by: 'total', month };
    const range = monthRange(month);
    const inMonth = partsIn.get(month) ?? [];
    const asked = list.entries.get(sliceText(slice));
    const cost = sumOf(inMonth, entry => costIn(entry, range));
    const isProven = inMonth.every(({ provenAt }) => provenAt !== null);
    const differed = asked?.dueReason != null;
    if ((cost < LEAST_COST && !differed) || !isProven) return [];
    // Until one month has shown that the source sums as we do, only what was read in full can tell.
    if (trust === null && (asked || month >= today.slice(0, 7))) return [];
    // What disagreed is read first.
    const askedAt = asked?.readAt ?? 0;
    if (differed && inMonth.some(({ provenAt }) => (provenAt ?? 0) < askedAt)) return [];
    const shares = inMonth.map(entry => ({
      rate: SHOWN * rateOf(entry) * shareIn(entry, range),
      age: Math.max(now - Math.max(entry.provenAt ?? 0, asked?.readAt ?? 0), 0) / HOUR,
    }));
    const rate = sumOf(shares, each => each.rate);
    const expected = sumOf(shares, each => each.rate * each.age);
    const squares = sumOf(shares, each => each.rate * each.age ** 2);
    const age = rate > 0 ? Math.sqrt(squares / rate) : 0;
    const waiting = { changes: LIKELY_LEFT, hours: Math.max(now - askedAt, 0) / HOUR };
    const requests = 1 + cost * (1 - Math.exp(-expected));
    const why = 'tells whether any row of the month changed';
    return [{ choice: single(slice), rate, age, requests, ...(differed ? { waiting } : {}), why }];
  });
}

/** Hours since the slice was last known to hold its rows: read, or, for what a total shows, summed up alike. */
export function ageOf(entry: Entry, list: List, now: number): number {
  const read = Math.max(now - (entry.provenAt ?? 0), 0) / HOUR;
  const agreedAt = totalsAgreedAt(entry, list);
  if (agreedAt === null || agreedAt <= (entry.provenAt ?? 0)) return read;
  const summed = Math.max(now - agreedAt, 0) / HOUR;
  return Math.sqrt(SHOWN * summed ** 2 + (1 - SHOWN) * read ** 2);
}

/** A total that disagrees tells of a change in one of these many windows, by the moment (epoch ms) since when they are due. */
export function windowsInDoubt(list: List, parts: readonly Entry[]): Map<number, number> {
  const windows = new Map<number, number>();
  for (const { slice, dueReason, readAt } of list.entries.values())
    if (slice.by === 'total' && dueReason !== null && readAt !== null)
      windows.set(readAt, parts.filter(({ dueSince }) => dueSince === readAt).length);
  return windows;
}

function totalsAgreedAt({ slice }: Entry, list: List): number | null {
  if (list.profile.controlTotals !== 'agree' || slice.by !== 'date' || slice.from === null || slice.to === null)
    return null;
  let oldest = Number.POSITIVE_INFINITY;
  for (
    let month = slice.to.slice(0, 7), back = 1;
    month >= slice.from.slice(0, 7);
    month = monthBefore(slice.to, back++)
  ) {
    const total = list.entries.get(sliceText({ by: 'total', month }));
    if (!total || total.dueReason !== null || total.readAt === null) return null;
    oldest = Math.min(oldest, total.readAt);
  }
  return oldest;
}

/** The months from today's back to the first that a window begins in. */
function monthsBack(parts: readonly Entry[], today: string): string[] {
  const starts = parts.flatMap(({ slice }) => (slice.by === 'date' && slice.from !== null ? [slice.from] : []));
  const first = ([today, ...starts].sort()[0] as string).slice(0, 7);
  const months: string[] = [];
  for (let month = today.slice(0, 7); month >= first && months.length < MOST_MONTHS; ) {
    months.push(month);
    month = monthBefore(today, months.length);
  }
  return months;
}

/** The windows with days in each of the months, which are given newest first. */
function byMonth(parts: readonly Entry[], months: readonly string[]): Map<string, Entry[]> {
  const found = new Map(months.map(month => [month, [] as Entry[]]));
  const [newest = ''] = months;
  const oldest = months.at(-1) ?? '';
  for (const entry of parts) {
    const { slice } = entry;
    if (slice.by !== 'date') continue;
    const from = slice.from === null ? oldest : slice.from.slice(0, 7);
    let month = slice.to === null ? newest : slice.to.slice(0, 7);
    if (month > newest) month = newest;
    for (; month >= from && month >= oldest; month = monthBefore(`${month}-01`, 1)) found.get(month)?.push(entry);
  }
  return found;
}

/** Requests that reading the part of a window in the month would take. */
const costIn = (entry: Entry, range: DateRange): number => entry.requests * shareIn(entry, range);

/** The share of a window's days that lie in the month; 0 for one that is open, as nobody knows its length. */
function shareIn({ slice }: Entry, range: DateRange): number {
  if (slice.by !== 'date') return 0;
  if (within(slice, range.from, range.to)) return 1;
  const days = lengthInDays(slice);
  return Number.isFinite(days) ? overlapDays(slice, range) / days : 0;
}

const sumOf = <T>(each: readonly T[], value: (one: T) => number): number =>
  each.reduce((sum, one) => sum + value(one), 0);
