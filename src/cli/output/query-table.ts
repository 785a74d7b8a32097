import { plural } from '../../service/format.ts';
import type { ColumnInfo, TextRow } from '../../warehouse/reports/read-query.ts';
import { type Format, NUMBERS } from './query-formats.ts';
import { draw, GAP } from './table.ts';
import type { Terminal } from './terminal.ts';

const LEAST = 4;
const WHOLE = '; what ends with … is cut: --format csv or json shows it whole';

/** A table as wide as the terminal at most; its columns are measured on the first batch, and longer values are cut. */
export function queryTable({ colors, width }: Terminal): Format {
  let widths: number[] | undefined;
  let rowCount = 0;
  let cut = false;
  const plain = (value: string) => value.replaceAll(/\r\n|\n|\r/g, '⏎').replaceAll('\t', ' ');
  return {
    write(columns, rows) {
      rowCount += rows.length;
      const first = widths === undefined;
      widths ??= measure(columns, rows, width);
      if (columns.length === 0 || (rows.length === 0 && !first)) return '';
      cut ||= rows.some(row => row.some((value, at) => displayWidth(plain(value ?? 'NULL')) > (widths?.[at] ?? 0)));
      const cells = rows.map(row => row.map(value => (value === null ? colors.dim('NULL') : plain(value))));
      const drawn = draw(cells, {
        colWidths: widths,
        colAligns: columns.map(column => (NUMBERS.has(column.oid) ? 'right' : 'left')),
        truncate: '…',
        ...(first ? { head: columns.map(column => colors.bold(column.name)) } : {}),
      });
      return `${drawn}\n`;
    },
    end: () => colors.dim(`(${plural(rowCount, 'row')}${cut ? WHOLE : ''})`).concat('\n'),
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
