import { contentOf, isContentKey, ordinalOf } from '../../../source/paging/row-key.ts';
import type { Row } from '../../../warehouse/rows/write/row.ts';
import { groupBy } from '../../group-by.ts';
import { byExtra } from './parse-rows.ts';

/**
 * Rows without an id of one pass over a list, as far as their numbers are not certain yet. Equal rows differ at most in fields that the job does
 * not declare, and come on any page: which is which is known once all of them were shown.
 */
export interface EqualRows {
  /** Rows that others equal. */
  readonly held: readonly Row[];
  /** Rows of the first page that no other equals so far: they may be all there is. */
  readonly first: readonly Row[];
  /** The contents that came more than once in the pass before. */
  readonly repeated: ReadonlySet<string>;
}

export const NO_EQUALS: EqualRows = { held: [], first: [], repeated: new Set() };

/** Where a reading stands after a page. */
export interface PageOfPass {
  /**
   * What its rows are that no other equals so far. `sure`: such rows, since a window shows its rows in one answer, and a later pass knows what
   * repeats. `open`: they may be all there is. `first pass`: others may equal them.
   */
  readonly alone: 'sure' | 'open' | 'first pass';
  /** Keys that the pass has shown, where it is over and another begins. */
  readonly passed: Iterable<string> | null;
  /** The reading ends; `complete`: it has shown every row. */
  readonly end: 'complete' | 'otherwise' | null;
}

/**
 * The rows of a page that are written now, and what is held from then on. Nothing that is stored is replaced by a row that may be another than the
 * one under its key; in the end, equal rows are numbered by their unknown fields, whatever page they came on.
 */
export function takeEquals(
  before: EqualRows,
  rows: readonly Row[],
  { alone: kind, passed, end }: PageOfPass,
): { written: readonly Row[]; equals: EqualRows } {
  const written = rows.filter(({ key }) => !isContentKey(key));
  const alone: Row[] = [];
  const held = [...before.held];
  for (const group of groupBy(
    rows.filter(({ key }) => isContentKey(key)),
    ({ key }) => contentOf(key),
  ).values()) {
    const [row] = group as [Row, ...Row[]];
    if (group.length === 1 && ordinalOf(row.key) === 1 && !before.repeated.has(contentOf(row.key))) alone.push(row);
    // More than one answer holds may be rows that came before.
    else held.push(...group.map(each => (ordinalOf(each.key) <= group.length ? onlyIfNew(each) : each)));
  }
  const equals = passed === null ? { ...before, held } : { ...NO_EQUALS, repeated: repeatedIn(passed) };
  if (end === null && kind === 'open') return { written, equals: { ...equals, first: alone } };
  const isSure = kind === 'sure' || end === 'complete';
  written.push(...[...before.first, ...alone].map(row => (isSure ? row : onlyIfNew(row))));
  if (end === 'complete') written.push(...numbered(held));
  else if (end !== null) written.push(...held.filter(row => row.onlyIfNew));
  return { written, equals: end === null ? { ...equals, first: [] } : NO_EQUALS };
}

/** Their keys: they were shown. */
export const heldKeys = ({ held, first }: EqualRows): string[] => [...held, ...first].map(({ key }) => key);

const onlyIfNew = (row: Row): Row => ({ ...row, onlyIfNew: true });

/** Equal rows get the same numbers in whatever order they came. */
function numbered(rows: readonly Row[]): Row[] {
  return [...groupBy(rows, ({ key }) => contentOf(key)).values()].flatMap(group => {
    const keys = group.map(({ key }) => key).sort((a, b) => ordinalOf(a) - ordinalOf(b));
    return group.sort(byExtra).map(({ onlyIfNew: _held, ...row }, index) => ({ ...row, key: keys[index] as string }));
  });
}

function repeatedIn(keys: Iterable<string>): Set<string> {
  const found = new Set<string>();
  for (const key of keys) if (isContentKey(key) && ordinalOf(key) > 1) found.add(contentOf(key));
  return found;
}
