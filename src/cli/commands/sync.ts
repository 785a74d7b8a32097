import type { Command } from 'commander';
import { fieldsBesideKey } from '../../engine/job.ts';
import { SluiceError } from '../../errors.ts';
import { MIGRATE } from '../../next-steps.ts';
import { listed } from '../../service/format.ts';
import { findRestore, listsOf } from '../../service/incidents/row-troubles.ts';
import { cameSince, firstSeenWithin } from '../../warehouse/rows/seen-changes.ts';
import { momentWithZone } from '../output/moments.ts';
import { readSources } from '../run/complete-orders.ts';
import { showDryRun } from '../run/estimate-work.ts';
import { listPending, openMigrated } from '../run/pending-migrations.ts';
import { showSummary } from '../run/summary.ts';
import {
  type Cli,
  type CostOptions,
  duration,
  type ExitCode,
  newCommand,
  parseWholeNumber,
  type Session,
  selectResources,
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
sluice sync --restored            the source was restored from a backup
sluice sync --restored 26h        .. of 26 hours ago, where no incident says so
sluice sync --source vienna       one source of several`;

interface Options extends CostOptions {
  readonly full?: boolean;
  readonly acceptDeletes?: number;
  readonly acceptLosses?: string;
  readonly moved?: boolean;
  /** Milliseconds since the state that was restored; true: as the changes show it. */
  readonly restored?: number | true;
}

export function command(cli: Cli): Command {
  const command = newCommand('sync', EXAMPLES)
    .argument('[resource...]', 'resources to read (default: all)')
    .option('--full', 'read everything again, however long the request limit makes it wait');
  return withCostOptions(command)
    .option(
      '--accept-deletes <n>',
      'override the loss limit for up to <n> rows',
      parseWholeNumber('--accept-deletes', 1, 2 ** 31 - 1),
    )
    .option('--accept-losses <list.field,..>', 'empty these columns or child rows where the source does, however many')
    .option('--moved', 'confirm that the source has a new address but is the same installation')
    .option(
      '--restored [ago]',
      'read everything again after the source was restored; rows that came since that state may go',
      duration('--restored'),
    )
    .action(cli.action({ source: true }, sync));
}

async function sync(session: Session, names: string[], options: Options): Promise<ExitCode> {
  const { full = false, maxRequests, acceptDeletes = 0, acceptLosses, moved, restored } = options;
  if (acceptDeletes > 0) requireOneSource(session, names, `--accept-deletes ${acceptDeletes}`);
  if (acceptLosses !== undefined) requireOneSource(session, names, `--accept-losses ${acceptLosses}`);
  if (moved) requireOneSource(session, names, '--moved');
  if (restored !== undefined) requireOneSource(session, names, '--restored');
  const resources = selectResources(session.jobs, names);
  const losses = lossesToAccept(session, resources, acceptLosses);
  const came = restored === undefined ? null : await cameSinceBackup(session, resources, options);
  const requests = resources.map(resource => {
    const accepted = losses.flatMap(loss => (loss.resource === resource ? loss.field : []));
    // What this sync did not read would be held the next time.
    const whole = full || came !== null || accepted.length > 0;
    const deletes = Math.max(acceptDeletes, came?.get(resource) ?? 0);
    return { resource, kind: 'sync' as const, whole, acceptDeletes: deletes, acceptLosses: accepted };
  });
  if (options.dryRun) return showDryRun(session, requests, maxRequests);
  return showSummary(session, await readSources(session, requests, options));
}

/** How many rows of each list came after the state that the source was restored to, which does not hold them. */
async function cameSinceBackup(session: Session, resources: readonly string[], { restored: ago, dryRun }: Options) {
  const { terminal, settings, jobs } = session;
  const { name, schema, timeZone } = settings.single;
  const database = dryRun ? await session.openDatabase() : await openMigrated(session);
  if (dryRun && (await listPending(session, database)).length > 0)
    throw new SluiceError('usage', 'The tables are not up to date, so their changes cannot be compared.', {
      next: `Run: ${MIGRATE}`,
    });
  const { kysely } = database;
  const restore = ago === true ? await findRestore(kysely, listsOf({ name, schema, jobs })) : undefined;
  if (restore === null)
    throw new SluiceError('usage', `The changes of the last week do not show that ${name} was restored.`, {
      next: 'If it was, give the age of the restored state, as in: sluice sync --restored 26h. To read everything: sluice sync --full.',
    });
  const first = restore ? restore.first : await firstSeenWithin(kysely, schema, Number(ago));
  const came = first === null ? new Map<string, number>() : await cameSince(kysely, { schema, resources, first });
  const state = restore ? `the state before ${momentWithZone(restore.firstSeenAt, timeZone)}` : 'that state';
  const rows = [...came].map(([resource, count]) => `${count} of ${resource}`);
  terminal.note(`Rows that came after ${state}, and may go: ${listed(rows) || 'none'}.`);
  return came;
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
