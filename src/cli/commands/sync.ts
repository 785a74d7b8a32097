import type { Command } from 'commander';
import { fieldsBesideKey } from '../../engine/job.ts';
import { SluiceError } from '../../errors.ts';
import { readSources } from '../run/complete-orders.ts';
import { showDryRun } from '../run/estimate-work.ts';
import { showSummary } from '../run/summary.ts';
import {
  type Cli,
  type CostOptions,
  type ExitCode,
  newCommand,
  type Session,
  selectResources,
  wholeNumber,
  withCostOptions,
} from '../session/session.ts';

const EXAMPLES = `sluice sync                       every resource
sluice sync invoices              one resource
sluice sync --dry-run             what it would cost
sluice sync --full                everything, even if it takes hours
sluice sync --no-wait             stop with exit code 75 at the request limit
sluice sync invoices --accept-deletes 250
                                  the source really lost 250 invoices
sluice sync invoices --accept-losses invoices.amount
                                  the source really emptied amounts
sluice sync --source vienna       one source of several`;

interface Options extends CostOptions {
  readonly full?: boolean;
  readonly acceptDeletes?: number;
  readonly acceptLosses?: string;
  readonly moved?: boolean;
}

export function syncCommand(cli: Cli): Command {
  const command = newCommand('sync', EXAMPLES)
    .argument('[resource...]', 'resources to read (default: all)')
    .option('--full', 'read everything again, however long the request limit makes it wait');
  return withCostOptions(command)
    .option(
      '--accept-deletes <n>',
      'override the loss limit for up to <n> rows',
      wholeNumber('--accept-deletes', 1, 2 ** 31 - 1),
    )
    .option('--accept-losses <list.field,..>', 'empty these columns or child rows where the source does, however many')
    .option('--moved', 'confirm that the source has a new address but is the same installation')
    .action(cli.action({ source: true }, sync));
}

async function sync(session: Session, names: string[], options: Options): Promise<ExitCode> {
  const { full = false, maxRequests, acceptDeletes, acceptLosses, moved } = options;
  if (acceptDeletes !== undefined) requireOneSource(session, names, `--accept-deletes ${acceptDeletes}`);
  if (acceptLosses !== undefined) requireOneSource(session, names, `--accept-losses ${acceptLosses}`);
  if (moved) requireOneSource(session, names, '--moved');
  const resources = selectResources(session.jobs, names);
  const losses = lossesToAccept(session, resources, acceptLosses);
  const requests = resources.map(resource => {
    const accepted = losses.flatMap(loss => (loss.resource === resource ? loss.field : []));
    // What this sync did not read would be held the next time.
    const whole = full || accepted.length > 0;
    return { resource, kind: 'sync' as const, whole, acceptDeletes: acceptDeletes ?? 0, acceptLosses: accepted };
  });
  if (options.dryRun) return showDryRun(session, requests, maxRequests);
  return showSummary(session, await readSources(session, requests, options));
}

/** The fields that `--accept-losses` names, as in `invoices.amount,invoices.items`. Kind `usage` for any that is not synced or unknown. */
function lossesToAccept({ jobs }: Session, resources: readonly string[], given = '') {
  const places = given === '' ? [] : given.split(',').map(place => place.trim());
  return places.map(place => {
    const [resource = '', field = '', ...more] = place.split('.');
    const job = resources.includes(resource) ? jobs.get(resource) : undefined;
    const fields = job ? fieldsBesideKey(job) : [];
    if (more.length === 0 && fields.includes(field)) return { resource, field };
    throw new SluiceError('usage', `--accept-losses ${place} names no field of a list that is read here.`, {
      next: job
        ? `Fields of ${resource}: ${fields.join(', ')}.`
        : `Expected: <list>.<field>, as in invoices.amount; lists: ${resources.join(', ')}.`,
    });
  });
}

/** A confirmation given for one installation must not apply to others. */
function requireOneSource({ settings: { sources } }: Session, resources: readonly string[], flag: string): void {
  const [first] = sources;
  if (!first || sources.length === 1) return;
  const command = ['sluice sync', ...resources, flag, '--source', first.name].join(' ');
  throw new SluiceError('usage', `${flag} applies to one source, and there are ${sources.length}.`, {
    next: `Sources: ${sources.map(source => source.name).join(', ')}. Name one, as in: ${command}`,
  });
}
