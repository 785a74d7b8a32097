import type { Command } from 'commander';
import { stopEmbedded } from '../../embedded-postgres/embedded-server.ts';
import { type Cli, newCommand } from '../session/session.ts';

export function command(cli: Cli): Command {
  return newCommand('stop-db', 'sluice stop-db').action(
    cli.action({ source: false }, async ({ terminal, settings }) => {
      const stopped = await stopEmbedded(settings.dataDir);
      terminal.show({ stopped }, () =>
        stopped ? 'The embedded Postgres server has stopped.' : 'The embedded Postgres server was not running.',
      );
      return 0;
    }),
  );
}
