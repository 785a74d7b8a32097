import { HOUR } from '../../clock.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { changeRate, type Prior } from './change-rates.ts';
import { firstOf, scoreOf } from './worth.ts';

/**
 * The next of the slices that a task has to read: those never read, the newest first, then those that no reading proved, then those where
 * most changed for their cost.
 */
export function nextSlice(due: readonly Entry[], prior: Prior, now: number): Entry | undefined {
  const unread = due.filter(entry => entry.provenAt === null);
  const untried = unread.filter(entry => entry.readAt === null);
  if (unread.length > 0) return least(untried.length > 0 ? untried : unread, oldness);
  return least(due, entry => {
    const age = Math.max(now - (entry.provenAt ?? 0), 0) / HOUR;
    return -scoreOf({ rate: changeRate(entry, prior), age, requests: entry.requests });
  });
}

function oldness({ slice }: Entry): number {
  if (slice.by === 'date') return slice.to === null ? Number.NEGATIVE_INFINITY : -Date.parse(slice.to);
  if (slice.by === 'id') return slice.to === null ? Number.NEGATIVE_INFINITY : -Number(slice.to);
  return 0;
}

const least = (entries: readonly Entry[], value: (entry: Entry) => number): Entry | undefined =>
  firstOf(
    entries.map(entry => ({ entry, value: value(entry) })),
    (a, b) => a.value < b.value,
  )?.entry;
