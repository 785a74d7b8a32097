import type { KeySet } from './key-set.ts';
import { contentOf, renumbered } from './row-key.ts';

/** Rows of a page, and their keys; see `ListPage`. */
interface Rows {
  readonly rows: number;
  readonly keys: readonly string[];
}

/** The same rows as the page before, whatever numbers equal ones were given. */
export function repeats(previous: Rows, page: Rows): boolean {
  if (page.rows === 0 || page.rows !== previous.rows) return false;
  const before = new Set(renumbered(previous.keys));
  return renumbered(page.keys).every(key => before.has(key));
}

/** Equal rows without an id may fill one page after the other. */
export const mayGoOn = ({ rows, keys }: Rows, { fullPage }: { readonly fullPage: number }): boolean =>
  rows >= fullPage && new Set(keys.map(contentOf)).size === 1;

/** More than half of the rows are those that the list began with; some may have been inserted since. */
export const isMostlyFirst = (seen: KeySet, keys: readonly string[], rows: number): boolean =>
  2 * countFirst(seen, keys, rows) > rows;

/** The page that the list began with, row by row, whatever numbers equal ones were given. Rows that are all equal may be others. */
export const isFirstPage = (seen: KeySet, { rows, keys }: Rows): boolean =>
  new Set(keys.map(key => key.split('/')[0])).size > 1 && countFirst(seen, renumbered(keys), rows) === rows;

/** How many of these are among so many rows that the list began with. */
function countFirst(seen: KeySet, keys: readonly string[], rows: number): number {
  const first = new Set<string>();
  for (const key of seen) {
    if (first.size === rows) break;
    first.add(key);
  }
  return keys.filter(key => first.has(key)).length;
}
