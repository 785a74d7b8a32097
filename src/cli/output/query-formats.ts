import type { ColumnInfo, TextRow } from '../../warehouse/reports/read-query.ts';

type Write = (columns: readonly ColumnInfo[], rows: readonly TextRow[]) => string;

/** A format is written in batches, and ended once. */
export interface Format {
  readonly write: Write;
  readonly end: () => string;
}

/** RFC 4180: CRLF, quotes doubled. NULL is an empty cell, an empty text is `""`. */
export function csv(): Format {
  const cell = (value: string | null) =>
    value === null ? '' : value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  const line = (cells: readonly (string | null)[]) => `${cells.map(cell).join(',')}\r\n`;
  let begun = false;
  return {
    write(columns, rows) {
      const head = begun ? '' : line(columns.map(column => column.name));
      begun = true;
      return head + rows.map(line).join('');
    },
    end: () => '',
  };
}

const BOOLEAN = 16;
const JSON_TYPES = new Set([114, 3802]);
/** The OIDs of types whose values are numbers. */
export const NUMBERS = new Set([20, 21, 23, 26, 700, 701, 1700]);

/** An array of objects. Numbers are written with all the digits Postgres has, which JSON allows. */
export function json(): Format {
  const value = (text: string | null, oid: number) => {
    if (text === null) return 'null';
    if (oid === BOOLEAN) return text === 't' ? 'true' : 'false';
    if (JSON_TYPES.has(oid) || (NUMBERS.has(oid) && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text))) return text;
    return JSON.stringify(text);
  };
  let begun = false;
  return {
    write(columns, rows) {
      const objects = rows.map(row => {
        const fields = columns.map(
          ({ name, oid }, index) => `${JSON.stringify(name)}:${value(row[index] ?? null, oid)}`,
        );
        return `{${fields.join(',')}}`;
      });
      const start = begun ? (objects.length > 0 ? ',\n' : '') : '[\n';
      begun = true;
      return start + objects.join(',\n');
    },
    end: () => '\n]\n',
  };
}
