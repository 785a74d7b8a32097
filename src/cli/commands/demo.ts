import type { Command } from 'commander';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { withDemoDatabase } from '../demo/demo-database.ts';
import { showDemo } from '../demo/show-demo.ts';
import { newCommand } from '../session/new-command.ts';
import type { Cli } from '../session/session.ts';

export function demoCommand(cli: Cli): Command {
  return newCommand(
    'demo',
    'See Sluice at work in half a minute on made-up data; your own data is not touched',
    'sluice demo',
  ).action(
    cli.action({ source: false }, async session => {
      const sandbox = await openSandbox({ size: 'small', seed: 7 });
      try {
        return await withDemoDatabase(session, (database, url) => showDemo({ session, sandbox, database, url }));
      } finally {
        await sandbox.close();
      }
    }),
  );
}
