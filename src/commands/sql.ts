import { text } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { SluiceError } from '../errors.ts';
import { type ColumnInfo, readQuery, type TextRow } from '../warehouse/read-query.ts';
import { type Cli, newCommand } from './cli.ts';
import { queryTable } from './query-table.ts';

const EXAMPLE = `sluice sql "select status, count(*), sum(amount) from invoices group by status"
sluice sql --format csv "select * from customers" > customers.csv
echo "select now()" | sluice sql --format json`;

type Write = (columns: readonly ColumnInfo[], rows: readonly TextRow[]) => string;

/** A format is written in batches, and ended once. */
export interface Format {
  readonly write: Write;
  readonly end: () => string;
}

export function sqlCommand(cli: Cli): Command {
  return newCommand('sql', 'Ask the warehouse; reads only', EXAMPLE)
    .argument('[query]', 'one statement; without it, standard input is read')
    .addOption(new Option('--format <format>', 'how rows are written').choices(['table', 'csv', 'json']))
    .action(
      cli.action({ source: false }, async (session, given: string | undefined, options: { format?: string }) => {
        const { terminal, settings, signal } = session;
        const query = given ?? (process.stdin.isTTY ? '' : await text(process.stdin));
        if (query.trim() === '')
          throw new SluiceError('usage', 'There is no query.', {
            next: 'Example: sluice sql "select count(*) from invoices"',
          });
        const name = terminal.json ? 'json' : (options.format ?? 'table');
        const format = name === 'json' ? json() : name === 'csv' ? csv() : queryTable(terminal);
        const database = await session.openDatabase();
        await readQuery(database, { query, schema: settings.schema, signal }, (columns, rows) =>
          terminal.write(format.write(columns, rows)),
        );
        await terminal.write(format.end());
        return 0;
      }),
    );
}

/** RFC 4180: CRLF, quotes doubled. NULL is an empty cell, an empty text is `""`. */
function csv(): Format {
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
const NUMBERS = new Set([20, 21, 23, 26, 700, 701, 1700]);

/** An array of objects. Numbers are written with all the digits Postgres has, which JSON allows. */
function json(): Format {
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
