import type { IdSlice } from './slice.ts';

/** The last id that Postgres holds, 2^63-1. A range that ends with it is open: nothing lies beyond. */
const LAST_ID = 2n ** 63n - 1n;

/** A whole number without a sign that Postgres holds: what lists are ordered and cut by. */
export const isId = (key: string): boolean =>
  /^\d{1,18}$/.test(key) || (/^\d{19,40}$/.test(key) && BigInt(key) <= LAST_ID);

/** The end of a range at this id. */
export const openAtLast = (id: bigint | null): bigint | null => (id === LAST_ID ? null : id);

/** The id after this one, or before it; null where Postgres holds none. */
export const idBeside = (id: bigint, step: 1n | -1n): bigint | null =>
  BigInt.asIntN(64, id + step) === id + step ? id + step : null;

/** Whether the row of this key lies in the range; one without an id lies in none. */
export function holdsId(slice: IdSlice, key: string): boolean {
  if (!isId(key)) return false;
  const id = BigInt(key);
  return (slice.from === null || slice.from <= id) && (slice.to === null || id <= slice.to);
}

/** What is left of `slice` beside `hole`: none, one or two intervals. */
export function subtract(slice: IdSlice, hole: IdSlice): IdSlice[] {
  const parts: IdSlice[] = [];
  const end = hole.from === null ? null : idBeside(hole.from, -1n);
  const start = hole.to === null ? null : idBeside(hole.to, 1n);
  if (end !== null && (slice.from === null || slice.from <= end))
    parts.push({ by: 'id', from: slice.from, to: slice.to !== null && slice.to < end ? slice.to : end });
  if (start !== null && (slice.to === null || slice.to >= start))
    parts.push({ by: 'id', from: slice.from !== null && slice.from > start ? slice.from : start, to: slice.to });
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
 * the page begins at `offset` or just before it; a smaller one only where the row at `offset` would end every page, and a larger
 * one where it would end every smaller page, too.
 */
export function addressFor(offset: number, size: number): { page: number; limit: number } {
  const holding = (limit: number) => ({ page: Math.floor(offset / limit) + 1, limit });
  const reach = ({ page, limit }: { page: number; limit: number }) => page * limit - offset;
  let best = holding(size);
  for (let limit = size - 1; limit >= 1 && (limit >= size * 0.8 || reach(best) < 2); limit--)
    if (reach(holding(limit)) > reach(best)) best = holding(limit);
  for (let limit = size + 1; reach(best) < 2; limit++) best = holding(limit);
  return best;
}
