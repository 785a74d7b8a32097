import { HOUR } from '../../clock.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import type { DateSlice } from '../slices/slice.ts';

/** Weight of the prior, in hours watched: a week. For what is read at every tick it is a day. */
const PRIOR_HOURS = 168;
const PRIOR_HOURS_WATCHED = 24;
/** One row a year: no slice is ever thought to be still for good. */
const LEAST_RATE = 1 / (365 * 24);
/** What is assumed of a class counts as so many changes: it gives way to what the class itself shows. */
const ASSUMED_CHANGES = 0.1;
/** Assumed of rows a day old, in changes an hour and row, and of rows of any age: one in a hundred changes in a month. */
const ASSUMED_RATE_AT_A_DAY = 0.01;
const ASSUMED_RATE = 0.01 / (30 * 24);
/** Assumed of what is read at every tick: among a hundred rows, one change a day. */
const ASSUMED_RATE_WATCHED = 0.01 / 24;

/** Changes per hour and row among slices of like date age. */
export type Prior = (entry: Entry) => number;

/** Rows an hour that change in this slice, as far as its readings tell. */
export function changeRate(entry: Entry, prior: Prior): number {
  const pooled = Math.max(prior(entry) * Math.max(entry.rows ?? 1, 1), LEAST_RATE);
  const weight = isWatched(entry) ? PRIOR_HOURS_WATCHED : PRIOR_HOURS;
  return (Math.max(entry.changed, 0) + weight * pooled) / (entry.hoursWatched + weight);
}

const isWatched = ({ slice }: Entry): boolean => slice.by === 'newest' || slice.by === 'value';

/** A class of slices whose change rates are pooled: same slicing, like age of the newest date (doubling steps, in days). */
export function ageClass({ slice }: Entry, now: number): string {
  if (slice.by === 'value') return `${slice.by} ${slice.field}`;
  return slice.by === 'date' ? `date ${doublings(slice, now)}` : slice.by;
}

function doublings({ to }: DateSlice, now: number): number {
  const days = to === null ? 0 : Math.max((now - Date.parse(to)) / (24 * HOUR), 0);
  return Math.ceil(Math.log2(days + 1));
}

/** What is taken for a slice's changes per hour and row before its class has shown any: the older rows are, the less they change. */
function assumed({ slice }: Entry, now: number): number {
  if (slice.by === 'newest' || slice.by === 'value') return ASSUMED_RATE_WATCHED;
  return slice.by === 'date' ? ASSUMED_RATE_AT_A_DAY / 2 ** doublings(slice, now) : ASSUMED_RATE;
}

interface Pool {
  readonly assumed: number;
  changed: number;
  rowHours: number;
}

/**
 * Pools what all slices of a resource have shown. A class that has shown little is taken to be as much busier than assumed as its whole list
 * was; so none is thought still before it was watched for long.
 */
export function pooledPrior(entries: Iterable<Entry>, now: number): Prior {
  const pools = new Map<string, Pool>();
  for (const entry of entries) {
    const kind = ageClass(entry, now);
    const pool: Pool = pools.get(kind) ?? { assumed: assumed(entry, now), changed: 0, rowHours: 0 };
    pool.changed += entry.changed;
    pool.rowHours += entry.hoursWatched * Math.max(entry.rows ?? 1, 1);
    pools.set(kind, pool);
  }
  const factor = busierThanAssumed([...pools].flatMap(([kind, pool]) => (kind.startsWith('date') ? [pool] : [])));
  const rates = new Map<string, number>();
  return entry => {
    const kind = ageClass(entry, now);
    let rate = rates.get(kind);
    if (rate === undefined) {
      const base = assumed(entry, now) * (entry.slice.by === 'date' ? factor : 1);
      const { changed = 0, rowHours = 0 } = pools.get(kind) ?? {};
      rate = (Math.max(changed, 0) + ASSUMED_CHANGES) / (rowHours + ASSUMED_CHANGES / base);
      rates.set(kind, rate);
    }
    return rate;
  };
}

function busierThanAssumed(pools: readonly Pool[]): number {
  const changed = pools.reduce((sum, pool) => sum + Math.max(pool.changed, 0), 0);
  const expected = pools.reduce((sum, pool) => sum + pool.rowHours * pool.assumed, 0);
  return (changed + ASSUMED_CHANGES) / (expected + ASSUMED_CHANGES);
}
