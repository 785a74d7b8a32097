import type { Command } from 'commander';
import { SluiceError } from '../../errors.ts';
import { type Cli, newCommand, type Session } from '../cli.ts';
import { chosenResources, wholeNumber } from '../cli-options.ts';
import { showServed } from '../output/summary.ts';
import { read } from '../run/read-command.ts';

const EXAMPLE = `sluice sync                       everything that has a job
sluice sync invoices              one resource
sluice sync --no-wait             stop with exit code 75 where the request limit is used up
sluice sync invoices --accept-deletes 250
                                  the source really lost 250 invoices
sluice sync --source vienna       one source of several`;

export function syncCommand(cli: Cli): Command {
  return newCommand('sync', 'Read from the source what was never read and what may have changed', EXAMPLE)
    .argument('[resource...]', 'resources to read; all without')
    .option('--no-wait', 'stop with exit code 75 instead of waiting for the request limit; progress is kept')
    .option(
      '--accept-deletes <n>',
      'rows that may be deleted although it is unusually many',
      wholeNumber('--accept-deletes', 1, 2 ** 31 - 1),
    )
    .option('--moved', 'the source has a new address, and is the same installation as before')
    .action(
      cli.action(
        { source: true },
        async (session, names: string[], options: { wait: boolean; acceptDeletes?: number; moved?: boolean }) => {
          if (options.acceptDeletes !== undefined)
            refuseForSeveral(session, names, `--accept-deletes ${options.acceptDeletes}`);
          if (options.moved) refuseForSeveral(session, names, '--moved');
          const wishes = chosenResources(session.jobs, names).map(resource => ({
            resource,
            kind: 'sync' as const,
            acceptDeletes: options.acceptDeletes ?? 0,
          }));
          return showServed(
            session,
            await read(session, wishes, { noWait: !options.wait, moved: options.moved ?? false }),
          );
        },
      ),
    );
}

/** What a person says of one installation is not said of the others. */
function refuseForSeveral({ settings: { sources } }: Session, resources: readonly string[], flag: string): void {
  const [first] = sources;
  if (!first || sources.length === 1) return;
  const command = ['sluice sync', ...resources, flag, '--source', first.name].join(' ');
  throw new SluiceError('usage', `${flag} is said of one source, and there are ${sources.length}.`, {
    next: `Sources: ${sources.map(source => source.name).join(', ')}. Say which, as in: ${command}`,
  });
}
