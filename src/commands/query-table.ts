import Table from 'cli-table3';
import type { ColumnInfo, TextRow } from '../warehouse/read-query.ts';
import type { Format } from './query-formats.ts';
import { plural } from './table.ts';
import type { Terminal } from './terminal.ts';

const NUMBERS = new Set([20, 21, 23, 26, 700, 701, 1700]);
const GAP = 2;
const LEAST = 4;
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

/** A table as wide as the terminal at most; its columns are measured on the first batch, and longer values are cut. */
export function queryTable({ colors, width }: Terminal): Format {
  let widths: number[] | undefined;
  let rowCount = 0;
  const plain = (value: string) => value.replaceAll(/\r\n|\n|\r/g, '⏎').replaceAll('\t', ' ');
  return {
    write(columns, rows) {
      rowCount += rows.length;
      const first = widths === undefined;
      widths ??= measure(columns, rows, width);
      if (rows.length === 0 && !first) return '';
      const drawn = new Table({
        chars: LINES,
        colWidths: widths,
        colAligns: columns.map(column => (NUMBERS.has(column.oid) ? 'right' : 'left')),
        style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
        truncate: '…',
        ...(first ? { head: columns.map(column => colors.bold(column.name)) } : {}),
      });
      for (const row of rows) drawn.push(row.map(value => (value === null ? colors.dim('NULL') : plain(value))));
      if (columns.length === 0) return '';
      return `${drawn
        .toString()
        .split('\n')
        .map(line => line.trimEnd())
        .join('\n')}\n`;
    },
    end: () => colors.dim(`(${plural(rowCount, 'row')})`).concat('\n'),
  };
}

/** The widest columns give way first. */
function measure(columns: readonly ColumnInfo[], rows: readonly TextRow[], width: number): number[] {
  const widths = columns.map(({ name }, index) =>
    rows.reduce(
      (widest, row) => Math.max(widest, displayWidth(row[index] ?? 'NULL')),
      Math.max(displayWidth(name), LEAST),
    ),
  );
  const most = width - GAP * (columns.length - 1);
  for (let sum = widths.reduce((a, b) => a + b, 0); sum > most; sum--) {
    const widest = widths.indexOf(Math.max(...widths));
    if ((widths[widest] as number) <= LEAST) break;
    widths[widest] = (widths[widest] as number) - 1;
  }
  return widths;
}

/** Han, kana, hangul and emoji take two columns. */
const displayWidth = (text: string): number =>
  [...text].reduce(
    (sum, char) =>
      sum +
      (/[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/u.test(
        char,
      )
        ? 2
        : 1),
    0,
  );
