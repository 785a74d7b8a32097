import { mix } from '../data/random.ts';
import type { Filter, Table } from '../data/table.ts';
import type { Variants } from '../variants/variants.ts';
import { createRanking, sortByKey } from './ranking.ts';

const KEPT_ANSWERS = 8;

/** Picks the rows of a list in the order of the variant, and keeps the latest answers until the table changes. */
export interface Listing {
  positions(filter: Filter, order: Variants['order'], visible: Variants['visible'], salt: number): Int32Array;
}

export function createListing(table: Table<{ id: number }>, seed: number): Listing {
  const kept = new Map<string, Int32Array>();
  let version = -1;
  const byChange = createRanking(table, position => table.columns.changed[position] as number);
  const byDate = createRanking(table, position => dateKey(table, position));
  const byChance = createRanking(table, position => mix(table.columns.ids[position] as number, seed) >>> 1);

  const arrange = (found: Int32Array, order: Variants['order'], salt: number): Int32Array => {
    switch (order) {
      case 'id-asc':
        return found;
      case 'id-desc':
        return found.reverse();
      case 'updated-desc':
        return byChange(found).reverse();
      case 'updated-asc':
        return byChange(found);
      case 'date-desc':
        return byDate(found).reverse();
      case 'date-desc-loose':
        return sortByKey(found, position => dateKey(table, position) * 1024 + (mix(position, salt) >>> 22)).reverse();
      case 'shuffled':
        return byChance(found);
    }
  };

  return {
    positions(filter, order, visible, salt) {
      if (table.version !== version) kept.clear();
      version = table.version;
      const key = JSON.stringify([filter, order, visible, order === 'date-desc-loose' ? salt : 0]);
      const known = kept.get(key);
      if (known !== undefined) return known;
      const found = arrange(see(table, table.select(filter), visible), order, salt);
      if (kept.size >= KEPT_ANSWERS) kept.delete(kept.keys().next().value ?? '');
      kept.set(key, found);
      return found;
    },
  };
}

function see(table: Table<{ id: number }>, found: Int32Array, visible: Variants['visible']): Int32Array {
  if (visible === 'all') return found;
  if (visible === 'none') return new Int32Array(0);
  return found.filter(position => (table.columns.ids[position] as number) % 2 === 0);
}

function dateKey(table: Table<{ id: number }>, position: number): number {
  // A small whole number that is not negative; undated rows come last in a descending list.
  return Math.max(0, (table.columns.days[position] as number) + 100_000);
}
