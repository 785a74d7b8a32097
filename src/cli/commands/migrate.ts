import type { Command } from 'commander';
import { applyMigrations, listPending } from '../run/pending-migrations.ts';
import { type Cli, newCommand } from '../session/session.ts';

export function command(cli: Cli): Command {
  return newCommand('migrate', 'sluice migrate\nsluice migrate --dry-run')
    .option('--dry-run', 'print what it would do; change nothing')
    .action(
      cli.action({ source: false }, async (session, { dryRun = false }: { dryRun?: boolean }) => {
        const database = await session.openDatabase();
        const names = dryRun
          ? await listPending(session, database, { putsBack: true })
          : await applyMigrations(session, database, { putsBack: true });
        session.terminal.show(dryRun ? { pending: names } : { applied: names }, () =>
          names.length === 0
            ? 'Nothing to do: the tables are up to date.'
            : [dryRun ? 'Would apply:' : 'Applied:', ...names.map(name => `  ${name}`)].join('\n'),
        );
        return 0;
      }),
    );
}
