import type { Command } from 'commander';
import { SluiceError } from '../../errors.ts';
import { openRewrites, settleRewrites } from '../../warehouse/rows/rewrites.ts';
import { openMigrated } from '../run/pending-migrations.ts';
import { type Cli, type ExitCode, newCommand, type Session } from '../session/session.ts';

const EXAMPLES = `sluice accept invoices.notes                   somebody really changed so many notes
sluice accept invoices.notes invoices.due_date both`;

export function command(cli: Cli): Command {
  return newCommand('accept', EXAMPLES)
    .argument('<list.field...>', 'columns, or the fields of child rows, as the incident names them')
    .action(cli.action({ source: false }, accept));
}

async function accept(session: Session, given: string[]): Promise<ExitCode> {
  const { terminal, settings, jobs } = session;
  const { name: source } = settings.single;
  const database = await openMigrated(session);
  const open = await openRewrites(database.kysely, source, [...jobs.keys()]);
  const places = [...new Set(given)];
  const unknown = places.find(place => !open.some(({ resource, field }) => `${resource}.${field}` === place));
  if (unknown !== undefined)
    throw new SluiceError('usage', `No rewrite of ${unknown} is open.`, {
      next:
        open.length === 0
          ? 'Nothing waits to be accepted.'
          : `Open: ${open.map(({ resource, field }) => `${resource}.${field}`).join(', ')}.`,
    });
  const accepted = open.filter(({ resource, field }) => places.includes(`${resource}.${field}`));
  for (const { resource, field } of accepted)
    await settleRewrites(database.kysely, { source, resource }, [field], 'accepted');
  terminal.show({ source, accepted }, () => `Accepted: ${places.join(', ')}. The incident ends with the next check.`);
  return 0;
}
