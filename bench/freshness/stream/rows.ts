/** A row's place in its list: date first, then id. A number, so that places compare with `<`. */
export type Key = number;

const IDS = 2 ** 24;
export const keyOf = (day: number, id: number): Key => day * IDS + id;
export const dayOfKey = (key: Key): number => Math.floor(key / IDS);

/** The rows of one list in order of date and id. Only what a reading needs to be judged: no contents. */
export interface Rows {
  readonly size: number;
  has(id: number): boolean;
  dayOf(id: number): number;
  insert(day: number): number;
  move(id: number, day: number): void;
  remove(id: number): void;
  /** The id of the row at this position from the newest end. */
  at(position: number): number;
  /** At most `most` ids in ascending order of place, from `from` (included) to `to` (not included). */
  between(from: Key, to: Key, most: number): number[];
}

const DELETED = -1;

/** `days`: the day of each initial row in ascending order; ids count from 1. */
export function createRows(days: readonly number[]): Rows {
  const firstDay = days[0] ?? 0;
  /** Ascending ids by day. A day of the largest list has 1,400 rows. */
  const buckets: number[][] = [];
  const dayById = [DELETED, ...days];
  let size = days.length;

  const bucketOf = (day: number): number[] => {
    while (buckets.length <= day - firstDay) buckets.push([]);
    return buckets[day - firstDay] as number[];
  };
  days.forEach((day, index) => {
    bucketOf(day).push(index + 1);
  });
  const put = (id: number, day: number) => {
    const bucket = bucketOf(day);
    bucket.splice(lowerBound(bucket, id), 0, id);
    dayById[id] = day;
    size++;
  };
  const take = (id: number) => {
    const bucket = bucketOf(dayById[id] as number);
    bucket.splice(lowerBound(bucket, id), 1);
    size--;
  };

  return {
    get size() {
      return size;
    },
    has: id => (dayById[id] ?? DELETED) !== DELETED,
    dayOf: id => dayById[id] as number,
    insert(day) {
      const id = dayById.length;
      put(id, Math.max(day, firstDay));
      return id;
    },
    move(id, day) {
      take(id);
      put(id, Math.max(day, firstDay));
    },
    remove(id) {
      take(id);
      dayById[id] = DELETED;
    },
    at(position) {
      let left = position;
      for (let index = buckets.length - 1; index >= 0; index--) {
        const bucket = buckets[index] as number[];
        if (left < bucket.length) return bucket[bucket.length - 1 - left] as number;
        left -= bucket.length;
      }
      throw new RangeError(`no row at position ${position}`);
    },
    between(from, to, most) {
      const found: number[] = [];
      const first = Math.max(dayOfKey(from) - firstDay, 0);
      for (let index = first; index < buckets.length; index++) {
        const day = firstDay + index;
        const bucket = buckets[index] as number[];
        const begin = keyOf(day, 0) >= from ? 0 : lowerBound(bucket, from - keyOf(day, 0));
        for (let at = begin; at < bucket.length; at++) {
          const id = bucket[at] as number;
          if (found.length === most || keyOf(day, id) >= to) return found;
          found.push(id);
        }
      }
      return found;
    },
  };
}

function lowerBound(sorted: readonly number[], wanted: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
