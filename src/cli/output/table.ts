import Table from 'cli-table3';
import { visibleText } from '../../visible-text.ts';
import type { Colors } from '../session/terminal.ts';

export const GAP = 2;

interface TableOptions {
  /** Columns aligned right: counts and amounts. */
  readonly right?: readonly number[];
  /** Column to the width at which it wraps. */
  readonly wrap?: Readonly<Record<number, number>>;
}

const LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: ' '.repeat(GAP),
};

/** Rows in columns, without a frame. */
export function draw(rows: readonly string[][], options: Table.TableConstructorOptions): string {
  const drawn = new Table({
    chars: LINES,
    ...options,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
  });
  drawn.push(...rows);
  return drawn
    .toString()
    .split('\n')
    .map(line => line.trimEnd())
    .join('\n');
}

/** Columns of text below a header, without a frame. A list is a cell of several lines. */
export function table(
  colors: Colors,
  head: readonly string[],
  rows: readonly (readonly unknown[])[],
  options: TableOptions = {},
): string {
  const widths: (number | null)[] = head.map((_, column) => options.wrap?.[column] ?? null);
  const cells = rows.map(row => row.map(cellText));
  return draw(cells, {
    head: head.map(cell => colors.dim(visibleText(cell))),
    colAligns: head.map((_, column) => (options.right?.includes(column) ? 'right' : 'left')),
    ...(options.wrap ? { colWidths: widths, wordWrap: true } : {}),
  });
}

const cellText = (cell: unknown): string =>
  [cell ?? '']
    .flat()
    .map(line => visibleText(String(line)))
    .join('\n');
