import { mix } from '../data/random.ts';
import type { Filter, Table } from '../data/table.ts';
import type { Variants } from '../variants/variants.ts';
import { byShownId } from './edge-ids.ts';
import { createRanking, sortByKey } from './ranking.ts';

const MAX_CACHED = 8;

/** The positions of a filtered list, in the order of the variant. The latest results are cached until the table changes. */
export interface Listing {
  positions(
    filter: Filter,
    order: Variants['order'],
    visible: Variants['visible'],
    salt: number,
    ids?: Variants['ids'],
  ): Int32Array;
}

export function createListing(table: Table<{ id: number }>, seed: number): Listing {
  const cache = new Map<string, Int32Array>();
  let version = -1;
  const rankByChange = createRanking(table, position => table.columns.changed[position] as number);
  const rankByDate = createRanking(table, position => dateKey(table, position));
  const rankByHash = createRanking(table, position => mix(table.columns.ids[position] as number, seed) >>> 1);

  const arrange = (found: Int32Array, order: Variants['order'], salt: number): Int32Array => {
    switch (order) {
      case 'id-asc':
        return found;
      case 'id-desc':
        return found.reverse();
      case 'updated-desc':
        return rankByChange(found).reverse();
      case 'updated-asc':
        return rankByChange(found);
      case 'date-desc':
        return rankByDate(found).reverse();
      case 'date-desc-loose':
        return sortByKey(found, position => dateKey(table, position) * 1024 + (mix(position, salt) >>> 22)).reverse();
      case 'shuffled':
        return rankByHash(found);
    }
  };

  return {
    positions(filter, order, visible, salt, ids = 'small') {
      if (table.version !== version) cache.clear();
      version = table.version;
      const key = JSON.stringify([filter, order, visible, order === 'date-desc-loose' ? salt : 0, ids]);
      const cached = cache.get(key);
      if (cached !== undefined) return cached;
      const selected = visibleRows(table, table.select(filter), visible);
      const found = arrange(ids === 'edge' ? byShownId(selected, table.columns.ids) : selected, order, salt);
      if (cache.size >= MAX_CACHED) cache.delete(cache.keys().next().value ?? '');
      cache.set(key, found);
      return found;
    },
  };
}

function visibleRows(table: Table<{ id: number }>, found: Int32Array, visible: Variants['visible']): Int32Array {
  if (visible === 'all') return found;
  if (visible === 'none') return new Int32Array(0);
  return found.filter(position => (table.columns.ids[position] as number) % 2 === 0);
}

/** Ids in a row that are taken out of their pages, and that are left there. */
const RUN = 25;

/** Whether a row that was counted stays on its page. */
export const isOnPage = (pages: Variants['pages'], id: number): boolean =>
  pages === 'full' || Math.floor(id / RUN) % 2 === 0;

/** Whether the key may see the row with this id. */
export const isVisible = ({ visible, pages }: Pick<Variants, 'visible' | 'pages'>, id: number): boolean =>
  isOnPage(pages, id) && (visible === 'all' || (visible === 'half' && id % 2 === 0));

function dateKey(table: Table<{ id: number }>, position: number): number {
  // Small and not negative, as sort keys must be; undated rows come last in a descending list.
  return Math.max(0, (table.columns.days[position] as number) + 100_000);
}
