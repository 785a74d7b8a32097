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
} from '../slices/date-windows.ts';
import { sliceText, type TotalSlice } from '../slices/slice.ts';

/** A month that costs less than this to read is sooner read than asked for. */
const LEAST_COST = 2;
/** A month is not asked for again before this. */
const LEAST_AGE_MS = HOUR;
/** How far back totals are asked for. */
const MOST_MONTHS = 240;

/**
 * The month whose control total is to be asked for next: one request that may tell that none of its rows has changed. First what
 * was read again since its total disagreed, then what was never asked for, newest first, then the oldest answer.
 */
export function totalToAsk(list: List, today: Day, now: number): TotalSlice | null {
  const trust = list.profile.controlTotals;
  if (!list.job.control || list.strategy.partition !== 'date' || (trust !== null && trust !== 'agree')) return null;
  const parts = partition(list);
  let best: { slice: TotalSlice; rank: number } | null = null;
  for (const month of monthsBack(parts, today)) {
    const slice: TotalSlice = { by: 'total', month };
    const range = monthRange(month);
    const inMonth = parts.filter(({ slice: part }) => part.by === 'date' && overlapDays(part, range) > 0);
    const asked = list.entries.get(sliceText(slice));
    const readAt = asked?.readAt ?? 0;
    if (now - readAt < LEAST_AGE_MS || costOf(inMonth, range) < LEAST_COST) continue;
    const proven = Math.min(...inMonth.map(entry => entry.provenAt ?? Number.NEGATIVE_INFINITY));
    // Until one month has shown that the source sums as we do, only what was read in full can tell.
    if (!Number.isFinite(proven) || (trust === null && (asked || month >= today.slice(0, 7)))) continue;
    const settled = asked?.dueReason !== null && proven > readAt;
    const rank = asked === undefined ? 1 : settled ? 0 : 1 + readAt;
    if (best === null || rank < best.rank) best = { slice, rank };
  }
  return best?.slice ?? null;
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

/** Requests that reading the month again would take. */
function costOf(parts: readonly Entry[], range: DateRange): number {
  let cost = 0;
  for (const { slice, requests } of parts) {
    if (slice.by !== 'date') continue;
    const days = lengthInDays(slice);
    cost += Number.isFinite(days) ? (requests * overlapDays(slice, range)) / days : 0;
  }
  return cost;
}
