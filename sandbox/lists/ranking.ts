import type { Table } from '../data/table.ts';

/** A double has 53 bits: 31 for the key and 22 for the position. */
const POSITIONS = 2 ** 22;
const ALWAYS_SORT_BELOW = 20_000;

type Key = (position: number) => number;

/**
 * Sorts positions by a key, ties by ascending position. Key and position share one double, because the numeric sort of a
 * typed array is ten times faster than one with a comparison function.
 */
export function sortByKey(found: Int32Array, key: Key): Int32Array {
  return Int32Array.from(sortedKeys(found, key), positionOf);
}

/**
 * A `sortByKey` for repeated use on one table and key. It keeps the sorted table and merges in the rows that changed since
 * (a million rows: 50 ms instead of 350).
 */
export function createRanking(table: Table<{ id: number }>, key: Key): (found: Int32Array) => Int32Array {
  let ranked: Float64Array | undefined;
  let version = 0;

  const refresh = (): Float64Array => {
    const touched = new Set(ranked === undefined ? [] : table.touchedSince(version));
    if (ranked === undefined || touched.size > ranked.length / 20) ranked = sortedKeys(allPositions(table.length), key);
    else if (touched.size > 0) ranked = merge(ranked, Int32Array.from(touched), table.length, key);
    version = table.version;
    return ranked;
  };

  return found => {
    if (found.length < ALWAYS_SORT_BELOW) return sortByKey(found, key);
    const wanted = new Uint8Array(table.length);
    for (const position of found) wanted[position] = 1;
    const sorted = new Int32Array(found.length);
    let count = 0;
    for (const value of refresh()) {
      const position = positionOf(value);
      if (wanted[position] === 0) continue;
      sorted[count] = position;
      count += 1;
    }
    return sorted;
  };
}

function sortedKeys(positions: Int32Array, key: Key): Float64Array {
  const keys = new Float64Array(positions.length);
  for (let index = 0; index < positions.length; index += 1) {
    const position = positions[index] as number;
    keys[index] = key(position) * POSITIONS + position;
  }
  return keys.sort();
}

function merge(ranked: Float64Array, touched: Int32Array, length: number, key: Key): Float64Array {
  const stale = new Uint8Array(length);
  for (const position of touched) stale[position] = 1;
  const fresh = sortedKeys(touched, key);
  const merged = new Float64Array(length);
  let count = 0;
  let next = 0;
  for (const value of ranked) {
    if (stale[positionOf(value)] === 1) continue;
    while (next < fresh.length && (fresh[next] as number) < value) merged[count++] = fresh[next++] as number;
    merged[count++] = value;
  }
  while (next < fresh.length) merged[count++] = fresh[next++] as number;
  return merged;
}

function allPositions(length: number): Int32Array {
  return new Int32Array(length).map((_, position) => position);
}

function positionOf(value: number): number {
  return value - Math.floor(value / POSITIONS) * POSITIONS;
}
