import type { Command } from 'commander';
import type { Job } from '../../engine/job.ts';
import { SluiceError } from '../../errors.ts';
import { count, plural } from '../../service/format.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { acquireSourceLock, LOCK_WAIT_MS } from '../../warehouse/database/source-lock.ts';
import { eraseRecord, type Forgotten } from '../forget/erase-record.ts';
import { momentWithZone } from '../output/moments.ts';
import { applyMigrations } from '../run/pending-migrations.ts';
import { NO_WAIT, newCommand, selectResources } from '../session/cli-options.ts';
import type { Cli, Outcome, Session } from '../session/session.ts';
import { isOpen, type OpenSource, recognise } from '../session/source-settings.ts';

const EXAMPLES = `sluice forget customers 17 --dry-run   what would be erased
sluice forget customers 17             erase it, once the source does not show it any more`;

const BACKUPS = `Not erased are copies outside of this database: dumps (pg_dump), archived WAL, replicas that lag, snapshots of disks, and
exports of yours. Inside it, Postgres overwrites the deleted bytes some time after its next vacuum.`;

interface Options {
  readonly dryRun?: boolean;
  readonly wait: boolean;
}

export function forgetCommand(cli: Cli): Command {
  return newCommand('forget', 'Erase a record that was deleted at the source, and every trace of it here', EXAMPLES)
    .argument('<resource>', 'the list that it belonged to')
    .argument('<key>', 'its id, or what its table shows as _key')
    .option('--dry-run', 'show what would be erased; change nothing')
    .option('--no-wait', NO_WAIT)
    .action(cli.action({ source: true }, forget));
}

async function forget(session: Session, name: string, key: string, options: Options): Promise<Outcome> {
  const { terminal, settings, jobs } = session;
  const { dryRun = false } = options;
  selectResources(jobs, [name]);
  const { sourceName } = settings;
  const source = settings.sources.find(isOpen) as OpenSource;
  const database = await session.openDatabase();
  await applyMigrations(session, database);
  await recognise(database, source);
  const forgotten = await withLocks(database, { source: sourceName, name }, () =>
    eraseRecord({ session, database, source, name, job: jobs.get(name) as Job, key, noWait: !options.wait, dryRun }),
  );
  const { receipt, erasedBefore, refersTo, mentions } = forgotten;
  terminal.show(
    {
      source: sourceName,
      resource: name,
      dryRun,
      receipt: dryRun ? null : receipt,
      counts: receipt?.counts ?? {},
      erasedBefore,
      refersTo,
      mentions,
    },
    () => describe(forgotten, { record: `${name} ${key}`, dryRun, timeZone: settings.timeZone }),
  );
  return 0;
}

/** Nobody may read the list or push to it meanwhile: a reading holds rows in memory, and a push lines. */
async function withLocks<T>(
  database: Database,
  at: { source: string; name: string },
  work: () => Promise<T>,
): Promise<T> {
  const busy = (who: string) =>
    new SluiceError('failed', `Another process is ${who}, so nothing was erased.`, {
      next: 'Stop that process or wait until it has finished, then run this command again.',
    });
  const reading = await acquireSourceLock(database, at.source, 'forget', { waitMs: LOCK_WAIT_MS });
  if (!reading) throw busy('reading the source');
  try {
    const pushing = await acquireSourceLock(database, `${at.source}, push of ${at.name}`);
    if (!pushing) throw busy(`pushing ${at.name}`);
    try {
      return await work();
    } finally {
      await pushing.release();
    }
  } finally {
    await reading.release();
  }
}

function describe(
  { receipt, erasedBefore, refersTo, mentions }: Forgotten,
  { record, dryRun, timeZone }: { record: string; dryRun: boolean; timeZone: string },
): string {
  const before = erasedBefore === null ? '' : ` It was erased at ${momentWithZone(erasedBefore, timeZone)}.`;
  const tables = Object.entries(receipt?.counts ?? {}).map(([table, rows]) => `  ${table}  ${count(rows)}`);
  const done = dryRun ? `Would erase ${record}, in rows of:` : `Erased ${record}, in rows of:`;
  return [
    ...(receipt ? [done, ...tables] : [`Nothing is stored of ${record} any more.${before}`]),
    ...(receipt && !dryRun ? [`Receipt ${receipt.id} in sluice.erasures: ${receipt.keyHash}`] : []),
    ...(refersTo.length > 0 ? ['', 'These rows refer to it and were kept:'] : []),
    ...refersTo.map(
      ({ resource, rows, keys }) =>
        `  ${resource}: ${plural(rows, 'row')} (${keys.join(', ')}${rows > keys.length ? ', ..' : ''}); to erase one, delete it at the source, then: sluice forget ${resource} ${keys[0]}`,
    ),
    ...(mentions.length > 0 ? ['', 'Rows of other records hold its e-mail address or phone number:'] : []),
    ...mentions.map(({ table, rows }) => `  ${table}: ${plural(rows, 'row')}`),
    ...(receipt ? ['', BACKUPS] : []),
  ].join('\n');
}
