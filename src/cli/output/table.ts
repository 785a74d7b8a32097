import Table from 'cli-table3';
import { visibleText } from '../../visible-text.ts';
import type { Colors } from '../session/terminal.ts';

export const GAP = 2;

const EDGES = ['top', 'bottom', 'left', 'right', 'mid'].flatMap(edge =>
  ['', '-mid', '-left', '-right'].map(end => [`${edge}${end}`, '']),
);
const FRAMELESS: Table.TableConstructorOptions = {
  chars: { ...Object.fromEntries(EDGES), middle: ' '.repeat(GAP) },
  style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
};

/** Columns of text below a header. A list is a cell of several lines. `right`: counts and amounts; `wrap`: column to its width. */
export function table(
  colors: Colors,
  head: readonly string[],
  rows: readonly (readonly unknown[])[],
  { right = [], wrap }: { right?: readonly number[]; wrap?: Readonly<Record<number, number>> } = {},
): string {
  const drawn = new Table({
    ...FRAMELESS,
    head: head.map(cell => colors.dim(visibleText(cell))),
    colAligns: head.map((_, column) => (right.includes(column) ? 'right' : 'left')),
    ...(wrap ? { colWidths: head.map((_, column) => wrap[column] ?? null), wordWrap: true } : {}),
  });
  drawn.push(...rows.map(row => row.map(cellText)));
  return drawn
    .toString()
    .split('\n')
    .map(line => line.trimEnd())
    .join('\n');
}

const MOST_COLUMNS = 100;
const LEAST_WRAP = 12;

/** A table of texts whose last column takes what the others leave of 100 columns. */
export function wrappedTable(
  colors: Colors,
  head: readonly string[],
  rows: readonly (readonly (string | null)[])[],
  right: readonly number[] = [],
): string {
  const last = head.length - 1;
  const widthOf = (column: number) => Math.max(...[head, ...rows].map(row => (row[column] ?? '').length));
  const taken = head.slice(0, last).reduce((sum, _, column) => sum + widthOf(column) + GAP, 0);
  return table(colors, head, rows, { right, wrap: { [last]: Math.max(MOST_COLUMNS - taken, LEAST_WRAP) } });
}

const cellText = (cell: unknown): string =>
  [cell ?? '']
    .flat()
    .map(line => visibleText(String(line)))
    .join('\n');
