import type { Command } from 'commander';
import { type Cli, newCommand } from '../cli.ts';
import { bringUpToDate } from '../run/pending-migrations.ts';

export function migrateCommand(cli: Cli): Command {
  return newCommand('migrate', 'Bring the tables of the warehouse to the newest state', 'sluice migrate').action(
    cli.action({ source: false }, async session => {
      const database = await session.openDatabase();
      const applied = await bringUpToDate(session, database);
      session.terminal.show({ applied }, () =>
        applied.length === 0
          ? 'Nothing to do: all migrations are applied.'
          : ['Applied:', ...applied.map(name => `  ${name}`)].join('\n'),
      );
      return 0;
    }),
  );
}
