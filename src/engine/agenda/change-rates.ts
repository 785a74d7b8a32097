import { HOUR } from '../../clock.ts';
import type { Entry } from '../slices/coverage-entry.ts';

/** Weight of the prior, in hours watched: a week. For what is read at every tick it is a day. */
const PRIOR_HOURS = 168;
const PRIOR_HOURS_WATCHED = 24;
/** One row a year: no slice is ever thought to be still for good. */
const LEAST_RATE = 1 / (365 * 24);

/** Changes per hour and row among slices of like date age. */
export type Prior = (entry: Entry) => number;

/** Rows an hour that change in this slice, as far as its readings tell. */
export function changeRate(entry: Entry, prior: Prior): number {
  const pooled = Math.max(prior(entry) * Math.max(entry.rows ?? 1, 1), LEAST_RATE);
  const weight = isWatched(entry) ? PRIOR_HOURS_WATCHED : PRIOR_HOURS;
  return (entry.changed + weight * pooled) / (entry.hoursWatched + weight);
}

const isWatched = ({ slice }: Entry): boolean => slice.by === 'newest' || slice.by === 'value';

/** A class of slices whose change rates are pooled: same slicing, like age of the newest date (doubling steps, in days). */
export function ageClass({ slice }: Entry, now: number): string {
  if (slice.by === 'value') return `${slice.by} ${slice.field}`;
  if (slice.by !== 'date') return slice.by;
  const days = slice.to === null ? 0 : Math.max((now - Date.parse(slice.to)) / (24 * HOUR), 0);
  return `date ${Math.ceil(Math.log2(days + 1))}`;
}

/** Pools what all slices of a resource have shown. */
export function pooledPrior(entries: Iterable<Entry>, now: number): Prior {
  const pools = new Map<string, { changed: number; rowHours: number }>();
  for (const entry of entries) {
    const kind = ageClass(entry, now);
    const pool = pools.get(kind) ?? { changed: 0, rowHours: 0 };
    pool.changed += entry.changed;
    pool.rowHours += entry.hoursWatched * Math.max(entry.rows ?? 1, 1);
    pools.set(kind, pool);
  }
  return entry => {
    const pool = pools.get(ageClass(entry, now));
    return pool && pool.rowHours > 0 ? pool.changed / pool.rowHours : 0;
  };
}
