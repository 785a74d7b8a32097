import Table from 'cli-table3';
import type { Colors } from './terminal.ts';

/** Blanks between columns. */
export const GAP = 2;

export interface TableOptions {
  /** Columns whose cells are aligned right: counts and amounts. */
  readonly right?: readonly number[];
  /** Width at which a column is wrapped. */
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

/** Rows in columns without frame, `GAP` apart. */
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

/** Columns of text under a head, without frame. */
export function table(
  colors: Colors,
  head: readonly string[],
  rows: readonly (readonly unknown[])[],
  options: TableOptions = {},
): string {
  const widths: (number | null)[] = head.map((_, column) => options.wrap?.[column] ?? null);
  const cells = rows.map(row => row.map(cell => (cell === null || cell === undefined ? '' : String(cell))));
  return draw(cells, {
    head: head.map(cell => colors.dim(cell)),
    colAligns: head.map((_, column) => (options.right?.includes(column) ? 'right' : 'left')),
    ...(options.wrap ? { colWidths: widths, wordWrap: true } : {}),
  });
}
