import type { Command } from 'commander';
import { count, firstOf, plural } from '../../service/format.ts';
import { isUnreadableKey } from '../../source/paging/row-key.ts';
import { table } from '../output/table.ts';
import { type ReadResult, readSources } from '../run/complete-orders.ts';
import { showDryRun } from '../run/estimate-work.ts';
import { endNote, exitCodeOf, failuresOf, resourceNames, showSummary, summarise } from '../run/summary.ts';
import {
  type Cli,
  type CostOptions,
  type ExitCode,
  newCommand,
  type Session,
  selectResources,
  withCostOptions,
} from '../session/session.ts';

const EXAMPLES = `sluice verify                     report differences; change nothing
sluice verify invoices --repair   make the warehouse equal to the source`;
/** Keys or slices named in a list of differences. */
const MOST_NAMED = 5;

interface Options extends CostOptions {
  readonly repair?: boolean;
}

type Report = Record<'absent' | 'different' | 'extra' | 'unreadable' | 'unproven', readonly string[]>;

export function command(cli: Cli): Command {
  const command = newCommand('verify', EXAMPLES)
    .argument('[resource...]', 'resources to compare (default: all)')
    .option('--repair', 'make the warehouse equal to the source');
  return withCostOptions(command).action(cli.action({ source: true }, verify));
}

async function verify(session: Session, names: string[], options: Options): Promise<ExitCode> {
  const { repair = false } = options;
  const resources = selectResources(session.jobs, names);
  const requests = resources.map(resource => ({ resource, kind: 'verify' as const, repair }));
  if (options.dryRun) return showDryRun(session, requests, options.maxRequests);
  const read = await readSources(session, requests, options);
  return repair ? showSummary(session, read) : showReport(session, read);
}

function showReport({ terminal }: Session, read: ReadResult): ExitCode {
  const resources = read.results.map(compare);
  // What differs is in the report.
  const error = failuresOf(read.results.map(summarise), read.failed, () => false);
  const isRepairable = resources.some(each =>
    [each.absent, each.different, each.extra, each.unproven].some(keys => keys.length > 0),
  );
  // A record that did not parse differs from the source, but reading it again does not repair it.
  const quarantined = resources.reduce((sum, each) => sum + each.quarantined, 0);
  const differs = isRepairable || quarantined > 0;
  const equal = !differs && !error;
  const open = resources.filter(each => each.end !== null && each.state === 'done');
  terminal.show({ equal, resources, ...(error ? { error } : {}) }, () => {
    if (!error && resources.every(isUnread))
      return 'Nothing was read yet, so there is nothing to compare. Next: sluice sync';
    const nameOf = resourceNames(resources);
    const unproven = resources.flatMap(each => each.unproven.map(slice => `${nameOf(each)} ${slice}`));
    return [
      table(
        terminal.colors,
        ['resource', 'absent here', 'different', 'not at the source', 'quarantined', 'requests'],
        resources.map(each => differenceRow(nameOf(each), each)),
        { right: [4, 5], wrap: { 1: 21, 2: 21, 3: 21 } },
      ),
      '',
      ...(unproven.length > 0 ? [NOT_COMPARED, `  ${firstOf(unproven, MOST_NAMED)}`] : []),
      ...(quarantined > 0
        ? [
            `${plural(quarantined, 'record')} could not be parsed and ${quarantined === 1 ? 'is' : 'are'} not in the warehouse. See: sluice quarantine`,
            // By the keys that `sluice quarantine` shows.
            ...resources
              .filter(each => each.quarantinedKeys.length > 0)
              .map(
                each =>
                  `  ${nameOf(each)} ${firstOf(each.quarantinedKeys.map(shortKey), MOST_NAMED, each.quarantined)}`,
              ),
          ]
        : []),
      ...(isRepairable ? ['To make the warehouse equal: sluice verify --repair'] : []),
      ...(error ? ['The comparison is incomplete, so the warehouse may differ in other places.'] : []),
      ...(equal ? [open.length === 0 ? 'The warehouse equals the source.' : EQUALS_SHOWN] : []),
      ...open.flatMap(each => (each.end ? [endNote(nameOf(each), { ...each, end: each.end })] : [])),
    ].join('\n');
  });
  if (error && !terminal.json) terminal.note(terminal.noteColors.red(error.message));
  return differs ? 1 : exitCodeOf(error, read);
}

const NOT_COMPARED =
  'Not compared, because never read in full (next: sluice sync) or because the answers contradict each other:';
const EQUALS_SHOWN =
  'Every row that the source shows is equal in the warehouse. Rows beyond the end of a list were not compared.';

/** The differences of one resource, as `--json` shows them. */
function compare(result: ReadResult['results'][number]) {
  const { source, resource, order, state, reason, requests, seconds, end } = summarise(result);
  const report = (result.order.report ?? {}) as Partial<Report>;
  const { absent = [], different = [], extra = [], unreadable = [], unproven = [] } = report;
  // Records that no longer parse enter the quarantine only at the next sync.
  const quarantined = Math.max(result.work?.quarantinedNow ?? 0, unreadable.length);
  const found = { absent, different, extra, unproven, quarantined, quarantinedKeys: unreadable };
  return { source, resource, order, state, reason, requests, seconds, end, ...found };
}

/** No part of it was ever read in full: without a request, nothing was compared. */
const isUnread = ({ unproven, requests, quarantined }: ReturnType<typeof compare>): boolean =>
  unproven.length > 0 && requests === 0 && quarantined === 0;

function differenceRow(name: string, each: ReturnType<typeof compare>): string[] {
  // An incomplete comparison that found nothing does not prove that nothing differs.
  const cellOf = (keys: readonly string[]) => (each.state === 'done' || keys.length > 0 ? keysText(keys) : '?');
  return [
    name,
    ...[each.absent, each.different, each.extra].map(cellOf),
    count(each.quarantined),
    count(each.requests),
  ];
}

/** A record whose id cannot be read is known by a hash, of which the beginning is enough to find it in the quarantine. */
const shortKey = (key: string): string => (isUnreadableKey(key) ? `${key.slice(0, 9)}..` : key);

function keysText(keys: readonly string[]): string {
  if (keys.length === 0) return '0';
  const rest = keys.length > MOST_NAMED ? ', ..' : '';
  return `${count(keys.length)} (${keys.slice(0, MOST_NAMED).join(', ')}${rest})`;
}
