import { isoText } from '../../service/iso-times.ts';
import type { Format } from '../../service/query/csv.ts';
import { type ColumnInfo, NUMBERS, type TextRow } from '../../warehouse/reports/read-query.ts';

const BOOLEAN = 16;
const TIMESTAMP = 1114;
const TIMESTAMPTZ = 1184;
const JSON_TYPES = new Set([114, 3802]);
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
