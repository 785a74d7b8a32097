import { type Options, stringify } from 'csv-stringify/sync';
import type { ColumnInfo, TextRow } from '../../warehouse/reports/read-query.ts';
import { isoText } from '../session/iso-times.ts';

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

const BOOLEAN = 16;
const TIMESTAMP = 1114;
const TIMESTAMPTZ = 1184;
const JSON_TYPES = new Set([114, 3802]);
/** OIDs of the numeric types. */
export const NUMBERS = new Set([20, 21, 23, 26, 700, 701, 1700]);

/** A row as a JSON object. Numbers keep every digit that Postgres has. */
function objectOf(columns: readonly ColumnInfo[], row: TextRow): string {
  const fields = columns.map(({ name, oid }, index) => `${JSON.stringify(name)}:${jsonValue(row[index] ?? null, oid)}`);
  return `{${fields.join(',')}}`;
}

function jsonValue(text: string | null, oid: number): string {
  if (text === null) return 'null';
  if (oid === BOOLEAN) return text === 't' ? 'true' : 'false';
  if (JSON_TYPES.has(oid) || (NUMBERS.has(oid) && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text))) return text;
  return JSON.stringify(oid === TIMESTAMPTZ ? isoText(text) : oid === TIMESTAMP ? text.replace(' ', 'T') : text);
}

/** One object on each line: a line end between the tokens of a `json` value becomes a space. */
export const ndjson = (): Format => ({
  write: (columns, rows) => rows.map(row => `${objectOf(columns, row).replaceAll(/[\r\n]+/g, ' ')}\n`).join(''),
  end: () => '',
});

/** An array of objects. */
export function json(): Format {
  let begun = false;
  return {
    write(columns, rows) {
      const objects = rows.map(row => objectOf(columns, row));
      const start = begun ? (objects.length > 0 ? ',\n' : '') : '[\n';
      begun = true;
      return start + objects.join(',\n');
    },
    end: () => '\n]\n',
  };
}
