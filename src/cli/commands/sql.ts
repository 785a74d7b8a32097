import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { SluiceError } from '../../errors.ts';
import { readQuery } from '../../warehouse/reports/read-query.ts';
import { csv, json } from '../output/query-formats.ts';
import { queryTable } from '../output/query-table.ts';
import { newCommand } from '../session/new-command.ts';
import type { Cli, Session } from '../session/session.ts';

const EXAMPLES = `sluice sql "select status, count(*), sum(amount) from invoices group by status"
sluice sql --format csv "select * from customers" > customers.csv
echo "select now()" | sluice sql --format json`;

export function sqlCommand(cli: Cli): Command {
  return newCommand('sql', 'Run a read-only query on the warehouse', EXAMPLES)
    .argument('[query]', 'one SQL statement (default: read from standard input)')
    .addOption(new Option('--format <format>', 'output format').choices(['table', 'csv', 'json']))
    .action(cli.action({ source: false }, runQuery));
}

async function runQuery(session: Session, given: string | undefined, options: { format?: string }): Promise<0> {
  const { terminal, settings, signal } = session;
  const query = given ?? (process.stdin.isTTY ? '' : await readStandardInput(signal));
  if (query.trim() === '')
    throw new SluiceError('usage', 'No query was given.', {
      next: 'Example: sluice sql "select count(*) from invoices"',
    });
  if (terminal.json && options.format !== undefined && options.format !== 'json')
    throw new SluiceError('usage', `--json and --format ${options.format} contradict each other.`, {
      next: 'Use only one of them.',
    });
  const name = terminal.json ? 'json' : (options.format ?? 'table');
  const format = name === 'json' ? json() : name === 'csv' ? csv() : queryTable(terminal);
  const database = await session.openDatabase();
  await readQuery(database, { query, schema: settings.schema, signal }, (columns, rows) =>
    terminal.write(format.write(columns, rows)),
  );
  await terminal.write(format.end());
  return 0;
}

/** The writer of a pipe may keep it open forever, so the signal ends the wait. */
async function readStandardInput(signal: AbortSignal): Promise<string> {
  try {
    return await text(addAbortSignal(signal, process.stdin));
  } catch (error) {
    throw signal.aborted ? new SluiceError('stopped', 'Stopped on request, before a query was received.') : error;
  }
}
