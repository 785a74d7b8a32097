import type { Command } from 'commander';
import { applyMigrations } from '../run/pending-migrations.ts';
import { type Cli, newCommand } from '../session/session.ts';

export function migrateCommand(cli: Cli): Command {
  return newCommand('migrate', 'sluice migrate').action(
    cli.action({ source: false }, async session => {
      const database = await session.openDatabase();
      const applied = await applyMigrations(session, database);
      session.terminal.show({ applied }, () =>
        applied.length === 0
          ? 'Nothing to do: the tables are up to date.'
          : ['Applied:', ...applied.map(name => `  ${name}`)].join('\n'),
      );
      return 0;
    }),
  );
}
