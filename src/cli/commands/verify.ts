import type { Command } from 'commander';
import { count, plural } from '../../service/format.ts';
import { type Cli, newCommand, type Outcome, type Session } from '../cli.ts';
import { chosenResources } from '../cli-options.ts';
import { failures, nameIn, outcomeOf, served, showServed } from '../output/summary.ts';
import { table } from '../output/table.ts';
import { type Read, read } from '../run/read-command.ts';

const EXAMPLE = `sluice verify                     report what differs from the source; change nothing
sluice verify invoices --repair   and make the warehouse equal`;
const MOST_EXAMPLES = 5;

interface Report {
  readonly absent: readonly string[];
  readonly different: readonly string[];
  readonly extra: readonly string[];
  readonly unreadable: readonly string[];
  readonly unproven: readonly string[];
}

export function verifyCommand(cli: Cli): Command {
  return newCommand('verify', 'Compare every slice with the source: exit code 1 when something differs', EXAMPLE)
    .argument('[resource...]', 'resources to compare; all without')
    .option('--repair', 'make the warehouse equal to the source')
    .option('--no-wait', 'stop with exit code 75 instead of waiting for the request limit')
    .action(
      cli.action({ source: true }, async (session, names: string[], options: { wait: boolean; repair?: boolean }) => {
        const repair = options.repair ?? false;
        const wishes = chosenResources(session.jobs, names).map(resource => ({
          resource,
          kind: 'verify' as const,
          repair,
        }));
        const all = await read(session, wishes, { noWait: !options.wait });
        return repair ? showServed(session, all) : showReport(session, all);
      }),
    );
}

function showReport(session: Session, all: Read): Outcome {
  const { terminal } = session;
  const resources = all.served.map(each => {
    const { source, resource, order, state, reason, requests, seconds } = served(each);
    const report = (each.order.report ?? {}) as Partial<Report>;
    const { absent = [], different = [], extra = [], unreadable = [], unproven = [] } = report;
    // What stopped to parse since the last sync is not in quarantine yet.
    const quarantined = Math.max(each.work?.quarantinedNow ?? 0, unreadable.length);
    return {
      source,
      resource,
      order,
      state,
      reason,
      requests,
      seconds,
      absent,
      different,
      extra,
      unproven,
      quarantined,
    };
  });
  const error = failures(all.served.map(served), all.failed);
  const name = nameIn(resources);
  const repairable = resources.some(each =>
    [each.absent, each.different, each.extra, each.unproven].some(keys => keys.length > 0),
  );
  // What did not parse is not here as the source has it, and reading it once more makes nothing of it.
  const quarantined = resources.reduce((sum, each) => sum + each.quarantined, 0);
  const differs = repairable || quarantined > 0;
  const equal = !differs && !error;

  terminal.show({ equal, resources, ...(error ? { error } : {}) }, () => {
    const lines = resources.map(each => [
      name(each),
      // That nothing was found by what did not come to its end is not that nothing differs.
      ...[each.absent, each.different, each.extra].map(keys =>
        each.state === 'done' || keys.length > 0 ? keysOf(keys) : '?',
      ),
      count(each.quarantined),
      count(each.requests),
    ]);
    const drawn = table(
      terminal.colors,
      ['resource', 'absent here', 'different', 'not at the source', 'quarantined', 'requests'],
      lines,
      { right: [4, 5], wrap: { 1: 21, 2: 21, 3: 21 } },
    );
    const unproven = resources.flatMap(each => each.unproven.map(slice => `${name(each)} ${slice}`));
    return [
      drawn,
      '',
      ...notCompared(unproven),
      ...(quarantined > 0
        ? [`Not here, because they did not parse: ${plural(quarantined, 'record')}. See: sluice quarantine`]
        : []),
      ...(repairable ? ['Make it equal: sluice verify --repair'] : []),
      ...(error ? ['Not all was compared, so nobody can say yet whether the warehouse equals the source.'] : []),
      ...(equal ? ['The warehouse equals the source.'] : []),
    ].join('\n');
  });
  if (error && !terminal.json) terminal.note(terminal.noteColors.red(error.message));
  return differs ? 1 : outcomeOf(error, all);
}

function notCompared(slices: readonly string[]): string[] {
  if (slices.length === 0) return [];
  const more = slices.length - MOST_EXAMPLES;
  return [
    'Not compared, because never read in full (next: sluice sync), or because the answers did not add up:',
    `  ${slices.slice(0, MOST_EXAMPLES).join(', ')}${more > 0 ? ` and ${count(more)} more` : ''}`,
  ];
}

/** How many, and the first few. */
function keysOf(keys: readonly string[]): string {
  if (keys.length === 0) return '0';
  const rest = keys.length > MOST_EXAMPLES ? ', ..' : '';
  return `${count(keys.length)} (${keys.slice(0, MOST_EXAMPLES).join(', ')}${rest})`;
}
