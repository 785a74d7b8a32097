import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { SECOND } from '../../clock.ts';
import { SluiceError } from '../../errors.ts';
import { asOf } from '../../service/answers/fresh-query.ts';
import { plural } from '../../service/format.ts';
import { csv, csvSafe, type Format } from '../../service/query/csv.ts';
import { readQuery } from '../../warehouse/reports/read-query.ts';
import { json, ndjson, queryExpanded, queryTable } from '../output/query-formats.ts';
import { openTextFile, writeRows } from '../output/result-file.ts';
import { type FreshOptions, freshen, noteAge, withFreshOptions } from '../run/fresh-answer.ts';
import { type Cli, newCommand, openQueryLogin, parseWholeNumber, pathFrom, type Session } from '../session/session.ts';
import type { Input } from '../session/shell.ts';
import { PLAIN, type Terminal } from '../session/terminal.ts';

const EXAMPLES = `sluice sql "select status, count(*), sum(amount) from invoices group by status"
sluice sql --format csv --out customers.csv "select * from customers"
sluice sql --expanded "select * from invoices where id = 17"
sluice sql --max-age 5m "select * from invoices where customer_id = 17"    what is older is read again first
echo "select now()" | sluice sql --format json`;

interface Options extends FreshOptions {
  readonly format?: string;
  readonly expanded?: boolean;
  readonly out?: string;
  readonly timeout: number;
}

const DEFAULT_TIMEOUT_S = 60;
const MOST_TIMEOUT_S = 7 * 24 * 3600;

export function command(cli: Cli): Command {
  const command = newCommand('sql', EXAMPLES)
    .argument('[query]', 'one SQL statement (default: read from standard input)')
    .addOption(new Option('--format <format>', 'output format').choices(['table', 'csv', 'csv-safe', 'json', 'ndjson']))
    .option('--expanded', 'one column a line instead of a table')
    .option('--out <file>', 'write the result to this file')
    .option(
      '--timeout <seconds>',
      'stop the query after this time; 0: never',
      parseWholeNumber('--timeout', 0, MOST_TIMEOUT_S),
      DEFAULT_TIMEOUT_S,
    );
  return withFreshOptions(command).action(cli.action({ source: false }, runQuery));
}

async function runQuery(session: Session, given: string | undefined, options: Options): Promise<0> {
  const { terminal, settings, signal, shell } = session;
  const query = given ?? (shell.stdin.isTTY ? '' : await readStandardInput(shell.stdin, signal));
  if (query.trim() === '')
    throw new SluiceError('usage', 'No query was given.', {
      next: 'Example: sluice sql "select count(*) from invoices"',
    });
  const create = chooseFormat(terminal.json, options);
  const { schema } = settings.single;
  const read = { query, schema, timeoutMs: options.timeout * SECOND, signal };
  const { out } = options;
  const database = await openQueryLogin(session);
  const age = await freshen(session, database, read, options);
  if (out !== undefined) {
    const rows = await writeRows(
      database,
      read,
      await openTextFile(pathFrom(session, out), create({ colors: PLAIN, width: null })),
    );
    terminal.show({ file: out, rows, asOf: age && asOf(age) }, () => `${plural(rows, 'row')} written to ${out}`);
    noteAge(terminal, age);
    return 0;
  }
  const format = create(terminal);
  await readQuery(database, read, (columns, rows) => terminal.write(format.write(columns, rows)));
  await terminal.write(format.end());
  noteAge(terminal, age);
  return 0;
}

type CreateFormat = (screen: Pick<Terminal, 'colors' | 'width'>) => Format;

function chooseFormat(isJson: boolean, { format, expanded }: Options): CreateFormat {
  const refuse = (flags: string): never => {
    throw new SluiceError('usage', `${flags} contradict each other.`, { next: 'Use only one of them.' });
  };
  if (isJson && format !== undefined && format !== 'json') refuse(`--json and --format ${format}`);
  if (expanded && (isJson || (format !== undefined && format !== 'table')))
    refuse(`--expanded and ${isJson ? '--json' : `--format ${format}`}`);
  const named: Partial<Record<string, CreateFormat>> = { json, csv, 'csv-safe': csvSafe, ndjson };
  return named[isJson ? 'json' : (format ?? '')] ?? (expanded ? ({ colors }) => queryExpanded(colors) : queryTable);
}

/** The writer of a pipe may keep it open forever, so the signal ends the wait. */
async function readStandardInput(stdin: Input, signal: AbortSignal): Promise<string> {
  try {
    return await text(addAbortSignal(signal, stdin));
  } catch (error) {
    throw signal.aborted ? new SluiceError('stopped', 'Stopped on request, before a query was received.') : error;
  }
}
