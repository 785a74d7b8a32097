import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { SluiceError } from '../../errors.ts';
import { readQuery } from '../../warehouse/reports/read-query.ts';
import { type Cli, newCommand } from '../cli.ts';
import { csv, json } from '../output/query-formats.ts';
import { queryTable } from '../output/query-table.ts';

const EXAMPLE = `sluice sql "select status, count(*), sum(amount) from invoices group by status"
sluice sql --format csv "select * from customers" > customers.csv
echo "select now()" | sluice sql --format json`;

export function sqlCommand(cli: Cli): Command {
  return newCommand('sql', 'Ask the warehouse; reads only', EXAMPLE)
    .argument('[query]', 'one statement; without it, standard input is read')
    .addOption(new Option('--format <format>', 'how rows are written').choices(['table', 'csv', 'json']))
    .action(
      cli.action({ source: false }, async (session, given: string | undefined, options: { format?: string }) => {
        const { terminal, settings, signal } = session;
        const query = given ?? (process.stdin.isTTY ? '' : await standardInput(signal));
        if (query.trim() === '')
          throw new SluiceError('usage', 'There is no query.', {
            next: 'Example: sluice sql "select count(*) from invoices"',
          });
        if (terminal.json && options.format !== undefined && options.format !== 'json')
          throw new SluiceError('usage', `--json and --format ${options.format} ask for two formats.`, {
            next: 'Leave one of them out.',
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

/** A pipe may stay open for as long as whoever writes to it likes. */
async function standardInput(signal: AbortSignal): Promise<string> {
  try {
    return await text(addAbortSignal(signal, process.stdin));
  } catch (error) {
    throw signal.aborted ? new SluiceError('stopped', 'Stopped on request, before a query came.') : error;
  }
}
