import { type Options, stringify } from 'csv-stringify/sync';
import type { ColumnInfo, TextRow } from '../../warehouse/reports/read-query.ts';

type Write = (columns: readonly ColumnInfo[], rows: readonly TextRow[]) => string;

/** Rows are written in batches; `end` is called once, after the last. */
export interface Format {
  readonly write: Write;
  readonly end: () => string;
}

/** Quoting the empty string alone keeps it apart from NULL, which is an empty cell. */
const CSV: Options = { record_delimiter: 'windows', quote_record_delimiter: true, quoted_match: /^$/ };

/** RFC 4180: CRLF, quotes doubled. NULL is an empty cell, the empty string is `""`. */
export function csv(): Format {
  let begun = false;
  return {
    write(columns, rows) {
      const head = begun ? [] : [columns.map(column => column.name)];
      begun = true;
      return stringify([...head, ...rows], CSV);
    },
    end: () => '',
  };
}

/** CSV for spreadsheets: a cell that would be a formula begins with an apostrophe. Numbers stay numbers. */
export function csvSafe(): Format {
  const { write, end } = csv();
  return {
    write: (columns, rows) =>
      write(
        columns.map(column => ({ ...column, name: withoutFormula(column.name) })),
        rows.map(row => row.map(cell => (cell === null ? null : withoutFormula(cell)))),
      ),
    end,
  };
}

const withoutFormula = (cell: string): string =>
  /^[=+\-@\t\r]/.test(cell) && !PLAIN_NUMBER.test(cell) ? `'${cell}` : cell;

const PLAIN_NUMBER = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;
