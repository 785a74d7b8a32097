import type { IdSlice } from './slice.ts';

/** A whole number without a sign: what lists are ordered and cut by. */
export const isId = (key: string): boolean => /^\d+$/.test(key);

/** Whether the row of this key lies in the range; one without an id lies in none. */
export function holdsId(slice: IdSlice, key: string): boolean {
  if (!isId(key)) return false;
  const id = BigInt(key);
  return (slice.from === null || slice.from <= id) && (slice.to === null || id <= slice.to);
}

/** What is left of `slice` beside `hole`: none, one or two intervals. */
export function subtract(slice: IdSlice, hole: IdSlice): IdSlice[] {
  const parts: IdSlice[] = [];
  if (hole.from !== null && (slice.from === null || slice.from < hole.from)) {
    const end = hole.from - 1n;
    parts.push({ by: 'id', from: slice.from, to: slice.to !== null && slice.to < end ? slice.to : end });
  }
  if (hole.to !== null && (slice.to === null || slice.to > hole.to)) {
    const start = hole.to + 1n;
    parts.push({ by: 'id', from: slice.from !== null && slice.from > start ? slice.from : start, to: slice.to });
  }
  return parts;
}

/** What is left of `slice` beside all of these. */
export const uncovered = (slice: IdSlice, holes: readonly IdSlice[]): IdSlice[] =>
  holes.reduce((rest, hole) => rest.flatMap(part => subtract(part, hole)), [slice]);

/** Neighbours in `order`: newest ids first when descending. */
export function byIds(descending: boolean): (a: IdSlice, b: IdSlice) => number {
  return (a, b) => {
    const first = descending ? b : a;
    const second = descending ? a : b;
    if (first.from === second.from) return 0;
    if (first.from === null) return -1;
    if (second.from === null) return 1;
    return first.from < second.from ? -1 : 1;
  };
}

/**
 * The page address (page from 1, rows a page) whose answer holds the rows at `offset` and as many as possible behind it, with at
 * most `size` rows. A list addressed by pages cannot start anywhere: a page size a little below the greatest is chosen so that
 * the page begins at `offset` or just before it; a smaller one only where the row at `offset` would end every page.
 */
export function addressFor(offset: number, size: number): { page: number; limit: number } {
  let best = { page: Math.floor(offset / size) + 1, limit: size };
  let reach = 0;
  for (let limit = size; limit >= 1 && (limit >= size * 0.8 || reach < 2); limit--) {
    const page = Math.floor(offset / limit) + 1;
    const rowsBehind = page * limit - offset;
    if (rowsBehind > reach) {
      reach = rowsBehind;
      best = { page, limit };
    }
  }
  return best;
}
