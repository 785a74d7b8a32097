import { mix } from './random.ts';
import type { Filter, Table } from './table.ts';
import type { Variants } from './variants.ts';

const POSITIONS = 2 ** 22;
const KEPT_ANSWERS = 8;

/** Picks the rows of a list in the order of the variant, and keeps the latest answers until the table changes. */
export interface Listing {
  positions(filter: Filter, order: Variants['order'], visible: Variants['visible'], salt: number): Int32Array;
}

export function createListing<Row extends { id: number }>(table: Table<Row>, seed: number): Listing {
  const kept = new Map<string, Int32Array>();
  let version = -1;
  return {
    positions(filter, order, visible, salt) {
      if (table.version !== version) kept.clear();
      version = table.version;
      const loose = order === 'date-desc-loose';
      const key = JSON.stringify([filter, order, visible, loose ? salt : 0]);
      const known = kept.get(key);
      if (known !== undefined) return known;
      const found = arrange(table, see(table, table.select(filter), visible), order, loose ? salt : seed);
      if (kept.size >= KEPT_ANSWERS) kept.delete(kept.keys().next().value ?? '');
      kept.set(key, found);
      return found;
    },
  };
}

function see<Row extends { id: number }>(
  table: Table<Row>,
  found: Int32Array,
  visible: Variants['visible'],
): Int32Array {
  if (visible === 'all') return found;
  if (visible === 'none') return new Int32Array(0);
  return found.filter(position => (table.columns.ids[position] as number) % 2 === 0);
}

function arrange<Row extends { id: number }>(
  table: Table<Row>,
  found: Int32Array,
  order: Variants['order'],
  salt: number,
): Int32Array {
  const { days, changed } = table.columns;
  switch (order) {
    case 'id-asc':
      return found;
    case 'id-desc':
      return found.reverse();
    case 'updated-desc':
      return byKey(found, position => changed[position] as number).reverse();
    case 'date-desc':
      return byKey(found, position => dayKey(days[position] as number)).reverse();
    case 'date-desc-loose':
      return byKey(found, position => dayKey(days[position] as number) * 1024 + (mix(position, salt) >>> 22)).reverse();
    case 'shuffled':
      return byKey(found, position => mix(table.columns.ids[position] as number, salt) >>> 1);
  }
}

/** A day as a small whole number that is not negative; undated rows come last in a descending list. */
function dayKey(day: number): number {
  return Math.max(0, day + 100_000);
}

/** Key and position in one double: a numeric sort of typed arrays is ten times faster than one with a comparison function. */
function byKey(found: Int32Array, key: (position: number) => number): Int32Array {
  const keyed = new Float64Array(found.length);
  for (let index = 0; index < found.length; index += 1) {
    const position = found[index] as number;
    keyed[index] = key(position) * POSITIONS + position;
  }
  keyed.sort();
  return Int32Array.from(keyed, value => value % POSITIONS);
}
