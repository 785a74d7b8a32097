import type { Command } from 'commander';
import { plural } from '../../service/format.ts';
import { acquireSourceLock, LOCK_WAIT_MS } from '../../warehouse/database/source-lock.ts';
import { forgetSource, refuseOthersRows } from '../../warehouse/ledgers/sources.ts';
import { resetResource } from '../../warehouse/rows/reset.ts';
import { openMigrated } from '../run/pending-migrations.ts';
import { confirm } from '../session/confirm.ts';
import { type Cli, type ExitCode, listOf, newCommand, type Session } from '../session/session.ts';
import { underLock } from '../session/source-settings.ts';

interface Options {
  readonly yes?: boolean;
  readonly source?: string;
}

export function command(cli: Cli): Command {
  return newCommand('reset', 'sluice reset transactions --yes')
    .argument('<resource>', 'the resource to reset')
    .option('--yes', 'do not ask for confirmation')
    .action(cli.action({ source: false }, reset));
}

async function reset(session: Session, name: string, options: Options): Promise<ExitCode> {
  const { terminal } = session;
  const { source, schema, job } = listOf(session, name);
  const named = options.source === undefined ? '' : ` --source ${options.source}`;
  const question = `Delete all rows of ${name} and their history from the warehouse?`;
  if (!options.yes) await confirm(session, { name: 'reset', question, command: `sluice reset ${name}${named} --yes` });
  const database = await openMigrated(session);
  const lock = await acquireSourceLock(database, source, 'reset', { waitMs: LOCK_WAIT_MS });
  return underLock(lock, 'reading the source, so nothing was reset', async (): Promise<0> => {
    const children = Object.values(job.children).map(({ table }) => table);
    const { rows } = await database.transaction(async tx => {
      await refuseOthersRows(tx, { source, schema });
      const deleted = await resetResource(tx, { source, resource: name }, { schema, table: name, children });
      await forgetSource(tx, source);
      return deleted;
    });
    terminal.show(
      { resource: name, rows },
      () => `Deleted ${plural(rows, 'row')} of ${name} here. To read them again: sluice sync ${name}`,
    );
    return 0;
  });
}
