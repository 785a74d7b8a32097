import stringWidth from 'string-width';
import { SluiceError } from '../../errors.ts';
import { isoText, plural } from '../../service/format.ts';
import type { Format } from '../../service/query/csv.ts';
import { visibleLines, visibleText } from '../../visible-text.ts';
import type { ColumnInfo, TextRow } from '../../warehouse/reports/read-query.ts';
import { NUMBERS, OIDS } from '../../warehouse/reports/read-query.ts';
import type { Colors, Terminal } from '../session/terminal.ts';
import { GAP } from './table.ts';

const JSON_TYPES: ReadonlySet<number> = new Set([OIDS.JSON, OIDS.JSONB]);

/** Kind `usage` for two columns of one name: whoever reads objects would lose one of them. */
export function refuseDuplicates(columns: readonly ColumnInfo[]): void {
  const names = columns.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return;
  throw new SluiceError('usage', `Two columns of the query are called ${twice}.`, {
    next: `Give one of them another name: select .. as other_${twice.replaceAll(/\W+/g, '_')}`,
  });
}

/** The rows as JSON objects, one text each. */
function objectsOf(columns: readonly ColumnInfo[], rows: readonly TextRow[]): string[] {
  refuseDuplicates(columns);
  return rows.map(row => objectOf(columns, row));
}

/** A row as a JSON object. Numbers keep every digit that Postgres has. */
function objectOf(columns: readonly ColumnInfo[], row: TextRow): string {
  const fields = columns.map(({ name, oid }, index) => `${JSON.stringify(name)}:${jsonValue(row[index] ?? null, oid)}`);
  return `{${fields.join(',')}}`;
}

function jsonValue(text: string | null, oid: number): string {
  if (text === null) return 'null';
  if (oid === OIDS.BOOL) return text === 't' ? 'true' : 'false';
  if (JSON_TYPES.has(oid) || (NUMBERS.has(oid) && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text))) return text;
  return JSON.stringify(
    oid === OIDS.TIMESTAMPTZ ? isoText(text) : oid === OIDS.TIMESTAMP ? text.replace(' ', 'T') : text,
  );
}

/** One object on each line: a line end between the tokens of a `json` value becomes a space. */
export const ndjson = (): Format => ({
  write: (columns, rows) =>
    objectsOf(columns, rows)
      .map(object => `${object.replaceAll(/[\r\n]+/g, ' ')}\n`)
      .join(''),
  end: () => '',
});

export function json(): Format {
  let begun = false;
  return {
    write(columns, rows) {
      const objects = objectsOf(columns, rows);
      const start = begun ? (objects.length > 0 ? ',\n' : '') : '[\n';
      begun = true;
      return start + objects.join(',\n');
    },
    end: () => '\n]\n',
  };
}

const NARROWEST = 4;
const CUT = '; values ending in … are cut, --expanded or --format csv shows them in full';

/**
 * A table. On a terminal it fits the width: the first batch sets the column widths, and longer values are cut. Elsewhere nothing is cut,
 * and a longer value of a later batch moves the rest of its line.
 */
export function queryTable({ colors, width }: Pick<Terminal, 'colors' | 'width'>): Format {
  let widths: number[] | undefined;
  let rowCount = 0;
  let cut = false;
  return {
    write(columns, rows) {
      rowCount += rows.length;
      const head = widths === undefined ? [columns.map(({ name }) => name)] : [];
      widths ??= measureColumns(columns, rows, width ?? Number.POSITIVE_INFINITY);
      const cell = (value: string, at: number, paint: (text: string) => string, isValue: boolean) => {
        const room = widths?.[at] ?? 0;
        const text = visibleText(value);
        const shown = width === null ? text : cutTo(text, room);
        cut ||= isValue && shown !== text;
        const fill = ' '.repeat(Math.max(room - displayWidth(shown), 0));
        return NUMBERS.has(columns[at]?.oid ?? 0) ? fill + paint(shown) : paint(shown) + fill;
      };
      const lines = [
        ...head.map(names => names.map((name, at) => cell(name, at, colors.bold, false))),
        ...rows.map(row =>
          row.map((value, at) => cell(value ?? 'NULL', at, value === null ? colors.dim : String, true)),
        ),
      ];
      return columns.length === 0 ? '' : lines.map(cells => `${cells.join(' '.repeat(GAP)).trimEnd()}\n`).join('');
    },
    end: () => colors.dim(`(${plural(rowCount, 'row')}${cut ? CUT : ''})`).concat('\n'),
  };
}

/** Shortening by one character and measuring again would take seconds for 2000 wide characters. */
function cutTo(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const { segment } of GRAPHEMES.segment(text.slice(0, MOST_MEASURED))) {
    used += displayWidth(segment);
    if (used >= width) break;
    kept += segment;
  }
  return `${kept}…`;
}

const GRAPHEMES = new Intl.Segmenter();

/** Shrinks the widest columns first. */
function measureColumns(columns: readonly ColumnInfo[], rows: readonly TextRow[], width: number): number[] {
  const widths = columns.map(({ name }, index) =>
    rows.reduce(
      (widest, row) => Math.max(widest, Math.min(displayWidth(visibleText(row[index] ?? 'NULL')), MOST_MEASURED)),
      Math.max(displayWidth(visibleText(name)), NARROWEST),
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

/** No line is as long, so its exact width does not matter: string-width would take seconds for a megabyte. */
const MOST_MEASURED = 2000;

/** string-width takes 60 µs for a cell of 24 characters, which is too long for 100,000 rows of plain ASCII. */
const displayWidth = (text: string): number =>
  text.length > MOST_MEASURED || /^[\x20-\x7e]*$/.test(text) ? text.length : stringWidth(text);

/** One column a line, for rows that are wider than a screen. Nothing is cut; further lines of a value are indented. */
export function queryExpanded(colors: Colors): Format {
  let rowCount = 0;
  return {
    write(columns, rows) {
      const names = columns.map(column => visibleText(column.name));
      const width = Math.max(0, ...names.map(displayWidth));
      const indent = `\n${' '.repeat(width + 2)}`;
      const lines = rows.flatMap(row => [
        colors.dim(`-- row ${++rowCount}`),
        ...names.map((name, at) => {
          const value = row[at] ?? null;
          const shown =
            value === null
              ? colors.dim('NULL')
              : visibleLines(value.replaceAll(/\r\n|\r/g, '\n')).replaceAll('\n', indent);
          return `${colors.bold(name)}${' '.repeat(width + 2 - displayWidth(name))}${shown}`.trimEnd();
        }),
      ]);
      return lines.map(line => `${line}\n`).join('');
    },
    end: () => colors.dim(`(${plural(rowCount, 'row')})`).concat('\n'),
  };
}
