import { HOUR } from '../../clock.ts';
import type { Entry } from '../slices/coverage-entry.ts';

/** Weight of the prior, in hours watched: a week. */
const PRIOR_HOURS = 168;
/** One row a year: no slice is ever thought to be still for good. */
const LEAST_RATE = 1 / (365 * 24);

/** Changes per hour and row among slices of like date age. */
export type Prior = (entry: Entry) => number;

/** Rows an hour that change in this slice, as far as its readings tell. */
export function changeRate(entry: Entry, prior: Prior): number {
  const pooled = Math.max(prior(entry) * Math.max(entry.rows ?? 1, 1), LEAST_RATE);
  return (entry.changed + PRIOR_HOURS * pooled) / (entry.hoursWatched + PRIOR_HOURS);
}

/**
 * Read next the slice with the greatest score. The sum of delays between a change and its arrival, on a fixed number of requests,
 * is least when the time between two readings is proportional to the square root of cost over change rate (Sia, Cho and Cho 2007,
 * Efficient monitoring algorithm for fast news alerts); age squared makes every slice come first in the end.
 */
export function score(entry: Entry, prior: Prior, now: number): number {
  if (entry.provenAt === null) return Number.POSITIVE_INFINITY;
  const age = Math.max(now - entry.provenAt, 0) / HOUR;
  return (changeRate(entry, prior) * age * age) / Math.max(entry.requests, 1);
}

/** A class of slices whose change rates are pooled: same slicing, like age of the newest date (doubling steps, in days). */
export function ageClass(entry: Entry, now: number): string {
  const { slice } = entry;
  if (slice.by !== 'date') return slice.by;
  const days = slice.to === null ? 0 : Math.max((now - Date.parse(slice.to)) / (24 * HOUR), 0);
  return `date ${Math.ceil(Math.log2(days + 1))}`;
}

/** Pools what all slices of a resource have shown. */
export function pooledPrior(entries: Iterable<Entry>, now: number): Prior {
  const pools = new Map<string, { changed: number; rowHours: number }>();
  for (const entry of entries) {
    const pool = pools.get(ageClass(entry, now)) ?? { changed: 0, rowHours: 0 };
    pool.changed += entry.changed;
    pool.rowHours += entry.hoursWatched * Math.max(entry.rows ?? 1, 1);
    pools.set(ageClass(entry, now), pool);
  }
  return entry => {
    const pool = pools.get(ageClass(entry, now));
    return pool && pool.rowHours > 0 ? pool.changed / pool.rowHours : 0;
  };
}

/**
 * The next slice among those due. `turn` counts the resource's readings: every fifth goes to the oldest proof whatever was
 * learnt, and while parts were never read, three in four of the rest read them, newest first.
 */
export function nextSlice(due: readonly Entry[], turn: number, prior: Prior, now: number): Entry | undefined {
  const unread = due.filter(entry => entry.provenAt === null);
  const read = due.filter(entry => entry.provenAt !== null);
  if (read.length === 0) return newestOf(unread);
  if (turn % 5 === 4) return least(read, entry => entry.provenAt as number);
  if (unread.length > 0 && turn % 5 !== 3) return newestOf(unread);
  return least(read, entry => -score(entry, prior, now));
}

function newestOf(entries: readonly Entry[]): Entry | undefined {
  return least(entries, ({ slice }) => {
    if (slice.by === 'date') return slice.to === null ? Number.NEGATIVE_INFINITY : -Date.parse(slice.to);
    if (slice.by === 'id') return slice.to === null ? Number.NEGATIVE_INFINITY : -Number(slice.to);
    return 0;
  });
}

function least(entries: readonly Entry[], value: (entry: Entry) => number): Entry | undefined {
  let best: Entry | undefined;
  let lowest = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const candidate = value(entry);
    if (best === undefined || candidate < lowest) {
      best = entry;
      lowest = candidate;
    }
  }
  return best;
}
