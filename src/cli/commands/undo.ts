import type { Command } from 'commander';
import { SluiceError } from '../../errors.ts';
import { sourceOption } from '../../next-steps.ts';
import { plural } from '../../service/format.ts';
import { runsText, type UndoneList, undoRuns } from '../../service/orders/undo.ts';
import { openMigrated } from '../run/pending-migrations.ts';
import { type Cli, type ExitCode, newCommand, type Session } from '../session/session.ts';

const EXAMPLES = `sluice undo 412 --dry-run   what it would restore
sluice undo 412             restore what run 412 replaced or deleted
sluice undo 412 413         of several runs, what was there before the first`;

export function command(cli: Cli): Command {
  return newCommand('undo', EXAMPLES)
    .argument('<run...>', 'numbers of runs, as status, the console and sluice.runs show them')
    .option('--dry-run', 'show what would be restored; change nothing')
    .action(cli.action({ source: false }, undo));
}

async function undo(session: Session, given: string[], { dryRun = false }: { dryRun?: boolean }): Promise<ExitCode> {
  const { terminal, settings, jobs } = session;
  const wrong = given.find(id => !/^[1-9]\d{0,17}$/.test(id));
  if (wrong !== undefined)
    throw new SluiceError('usage', `"${wrong}" is not the number of a run.`, {
      next: 'Expected: a number, such as 412.',
    });
  const ids = [...new Set(given)];
  const { name, schema } = settings.single;
  const database = await openMigrated(session);
  if (!dryRun) terminal.note(`Restoring what ${runsText(ids)} replaced or deleted ..`);
  const lists = await undoRuns(database, { name, schema, jobs }, ids, { dryRun });
  terminal.show({ source: name, runs: ids, dryRun, lists }, () =>
    [...lists.flatMap(list => describe(list, dryRun)), '', ...nextOf(lists, name, dryRun, ids)].join('\n'),
  );
  return 0;
}

function describe({ resource, replaced, deleted, changedSince, keys, due }: UndoneList, dryRun: boolean): string[] {
  const restored = dryRun ? 'would be restored' : 'restored';
  const others = changedSince > keys.length ? ', ..' : '';
  return [
    `${resource}: ${plural(replaced, 'replaced row')} and ${plural(deleted, 'deleted row')} ${restored}`,
    ...(changedSince > 0
      ? [
          `  ${plural(changedSince, 'row')} changed since, and ${changedSince === 1 ? 'stays' : 'stay'}: ${keys.join(', ')}${others}`,
        ]
      : []),
    ...(due > 0 ? [`  ${plural(due, 'slice')} to be read again`] : []),
  ];
}

function nextOf(lists: readonly UndoneList[], source: string, dryRun: boolean, ids: readonly string[]): string[] {
  if (dryRun) return [`To restore: sluice undo ${ids.join(' ')}${sourceOption(source)}`];
  // Rows that came back have no earlier version.
  const undone = lists.flatMap(({ undoRun, replaced }) => (undoRun !== null && replaced > 0 ? undoRun : []));
  return [
    'The next reading brings what the source shows then.',
    ...(undone.length > 0 ? [`To take this back: sluice undo ${undone.join(' ')}${sourceOption(source)}`] : []),
  ];
}
