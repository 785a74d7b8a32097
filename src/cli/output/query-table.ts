import stringWidth from 'string-width';
import { plural } from '../../service/format.ts';
import type { ColumnInfo, TextRow } from '../../warehouse/reports/read-query.ts';
import type { Terminal } from '../session/terminal.ts';
import { type Format, NUMBERS } from './query-formats.ts';
import { draw, GAP } from './table.ts';

const NARROWEST = 4;
const CUT = '; values ending in … are cut, --format csv or json shows them in full';

/** A table that fits the terminal. The first batch sets the column widths; longer values are cut. */
export function queryTable({ colors, width }: Terminal): Format {
  let widths: number[] | undefined;
  let rowCount = 0;
  let cut = false;
  return {
    write(columns, rows) {
      rowCount += rows.length;
      const first = widths === undefined;
      widths ??= measureColumns(columns, rows, width);
      if (columns.length === 0 || (rows.length === 0 && !first)) return '';
      cut ||= rows.some(row => row.some((value, at) => displayWidth(oneLine(value ?? 'NULL')) > (widths?.[at] ?? 0)));
      const cells = rows.map(row => row.map(value => (value === null ? colors.dim('NULL') : oneLine(value))));
      const drawn = draw(cells, {
        colWidths: widths,
        colAligns: columns.map(column => (NUMBERS.has(column.oid) ? 'right' : 'left')),
        truncate: '…',
        ...(first ? { head: columns.map(column => colors.bold(column.name)) } : {}),
      });
      return `${drawn}\n`;
    },
    end: () => colors.dim(`(${plural(rowCount, 'row')}${cut ? CUT : ''})`).concat('\n'),
  };
}

/** Shrinks the widest columns first. */
function measureColumns(columns: readonly ColumnInfo[], rows: readonly TextRow[], width: number): number[] {
  const widths = columns.map(({ name }, index) =>
    rows.reduce(
      (widest, row) => Math.max(widest, displayWidth(oneLine(row[index] ?? 'NULL'))),
      Math.max(displayWidth(name), NARROWEST),
    ),
  );
  const most = width - GAP * (columns.length - 1);
  for (let sum = widths.reduce((a, b) => a + b, 0); sum > most; sum--) {
    const widest = widths.indexOf(Math.max(...widths));
    if ((widths[widest] as number) <= NARROWEST) break;
    widths[widest] = (widths[widest] as number) - 1;
  }
  return widths;
}

const oneLine = (value: string): string => value.replaceAll(/\r\n|\n|\r/g, '⏎').replaceAll('\t', ' ');

/** string-width takes 60 µs for a cell of 24 characters, which is too long for 100,000 rows of plain ASCII. */
const displayWidth = (text: string): number => (/^[\x20-\x7e]*$/.test(text) ? text.length : stringWidth(text));
