import { hostname, userInfo } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';
import { SECOND } from '../../clock.ts';
import { type Job, slicingOf } from '../../engine/job.ts';
import { deletionMark } from '../../engine/profile/observe-address.ts';
import { openResource } from '../../engine/resource.ts';
import { isKind, SluiceError } from '../../errors.ts';
import { PUSH_TARGETS } from '../../push/targets.ts';
import { count, listed, plural } from '../../service/format.ts';
import type { Database, Transaction } from '../../warehouse/database/database.ts';
import { forgetStatistics } from '../../warehouse/database/forget-statistics.ts';
import { acquireSourceLock, LOCK_WAIT_MS } from '../../warehouse/database/source-lock.ts';
import {
  type Counts,
  eraseLines,
  eraseMentions,
  eraseRow,
  lastErased,
  writeReceipt,
} from '../../warehouse/erasure/erase-row.ts';
import { findMentions, findReferences, readCopies, readRecordState } from '../../warehouse/erasure/traces.ts';
import { receiversBefore } from '../../warehouse/ledgers/deliveries.ts';
import { readTraits } from '../../warehouse/ledgers/traits.ts';
import { deleteRows } from '../../warehouse/rows/delete-rows.ts';
import { storedKey, type Table } from '../../warehouse/rows/tables.ts';
import { momentWithZone } from '../output/moments.ts';
import { openMigrated } from '../run/pending-migrations.ts';
import { type Marks, marksOf, maskedMarks, SHORTEST_MARK } from '../run/person-marks.ts';
import { withClient } from '../run/source-client.ts';
import {
  type Cli,
  type ExitCode,
  NO_WAIT,
  newCommand,
  type OpenSource,
  type Session,
  selectResources,
} from '../session/session.ts';
import { jobsOf } from '../session/source-jobs.ts';
import { recognise, underLock } from '../session/source-settings.ts';

const EXAMPLES = `sluice forget customers 17 --dry-run   what would be erased
sluice forget customers 17             erase it, once the source does not show it any more`;

const BACKUPS = `Not erased are copies outside of this database: dumps (pg_dump), archived WAL, replicas that lag, snapshots of disks, and
exports of yours. Inside it, Postgres overwrites the deleted bytes some time after its next vacuum.`;

interface Options {
  readonly text: readonly string[];
  readonly dryRun?: boolean;
  readonly wait: boolean;
}

export function command(cli: Cli): Command {
  return newCommand('forget', EXAMPLES)
    .argument('<resource>', 'the list that it belonged to')
    .argument('<key>', 'its id, or what its table shows as _key')
    .option('--text <text>', 'a value by which the person is recognised elsewhere; may be repeated', collectTexts, [])
    .option('--dry-run', 'show what would be erased; change nothing')
    .option('--no-wait', NO_WAIT)
    .action(cli.action({ source: true }, forget));
}

async function forget(session: Session, name: string, given: string, options: Options): Promise<ExitCode> {
  const { terminal, settings, jobs } = session;
  const { dryRun = false, wait, text: texts } = options;
  selectResources(jobs, [name]);
  const source = settings.single as OpenSource;
  const database = await openMigrated(session);
  await recognise(database, source);
  const job = jobsOf(source, jobs, settings.hashKey).get(name) as Job;
  const place = { source: source.name, resource: name };
  // Nobody may read the list or push to it meanwhile: a reading holds rows in memory, and a push lines.
  const reading = await acquireSourceLock(database, source.name, 'forget', { waitMs: LOCK_WAIT_MS });
  const erased = await underLock(reading, 'reading the source, so nothing was erased', async () => {
    const pushing = await acquireSourceLock(database, `${source.name}, push of ${name}`);
    return underLock(pushing, `pushing ${name}, so nothing was erased`, async () => {
      const { table } = await openResource(database.kysely, { source: source.name, name, job, schema: source.schema });
      const key = storedKey(table, given);
      return eraseRecord({ session, database, source, place, job, table, key, texts, noWait: !wait, dryRun });
    });
  });
  const { receipt, erasedBefore, refersTo, mentions } = erased;
  const masked = texts.length > 0 ? [] : maskedMarks(job);
  if (masked.length > 0)
    terminal.note(
      `Other records with the same ${listed(masked)} were not searched for, since ${masked.length === 1 ? 'it is' : 'they are'} masked. To search, name each value: --text ann@example.com`,
    );
  const counts = receipt?.counts ?? {};
  const document = {
    ...place,
    dryRun,
    receipt: dryRun ? null : receipt,
    counts,
    erasedBefore,
    refersTo,
    mentions,
    masked,
  };
  terminal.show(document, () => describe(erased, `${name} ${given}`, dryRun, source.timeZone));
  return 0;
}

function describe(
  { receipt, erasedBefore, refersTo, mentions }: Awaited<ReturnType<typeof eraseRecord>>,
  record: string,
  dryRun: boolean,
  timeZone: string,
): string {
  const before = erasedBefore === null ? '' : ` It was erased at ${momentWithZone(erasedBefore, timeZone)}.`;
  return [
    ...(receipt
      ? [
          `${dryRun ? 'Would erase' : 'Erased'} ${record}, in rows of:`,
          ...Object.entries(receipt.counts).map(([table, rows]) => `  ${table}  ${count(rows)}`),
          ...(dryRun ? [] : [`Receipt ${receipt.id} in sluice.erasures: ${receipt.keyHash}`]),
        ]
      : [`Nothing is stored of ${record} any more.${before}`]),
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

/** The record to erase, and where it is stored. */
interface Erasure {
  readonly session: Session;
  readonly database: Database;
  readonly source: OpenSource;
  readonly place: { readonly source: string; readonly resource: string };
  readonly job: Job;
  readonly table: Table;
  readonly key: string;
  /** Values that the person named. */
  readonly texts: readonly string[];
  readonly noWait: boolean;
  /** Changes nothing. */
  readonly dryRun: boolean;
}

/** Erases a record that its source does not show any more. With `dryRun` nothing is changed, and the receipt says what would be erased. */
async function eraseRecord(record: Erasure) {
  const { database, source, place, table, key, texts, dryRun } = record;
  const { kysely } = database;
  const { schema } = source;
  const { resource } = place;
  const stored = marksOf(await readCopies(kysely, table, place, key));
  const marks = { ...stored, contacts: [...new Set([...stored.contacts, ...texts])] };
  const erasedBefore = await lastErased(kysely, place, key);
  await checkGone(record);
  const deleteStored = (tx: Transaction) => deleteRows(tx, table, place, [key], { runId: null, accepted: 1 });
  if (!dryRun) {
    await database.transaction(deleteStored);
    await awaitReceivers(record);
  }
  const receipt = await inTransaction(database, dryRun, async tx => {
    if (dryRun) await deleteStored(tx);
    const counts = await eraseAll(tx, record, marks);
    if (!dryRun) await forgetStatistics(tx, schema, table);
    if (Object.keys(counts).length > 0) return writeReceipt(tx, place, { key, counts, by: whoRuns() });
    if (erasedBefore !== null) return null;
    throw new SluiceError('usage', `Nothing is stored of ${resource} ${key}.`, {
      next: `A key is the id, or what "select * from ${resource}" shows as _key.`,
    });
  });
  return {
    // Null if nothing was stored any more: it was erased before.
    receipt,
    erasedBefore,
    refersTo: await findReferences(kysely, { schema, resource, id: key, versions: true }),
    mentions: dryRun ? [] : await findMentions(kysely, { source: source.name, schema, texts: marks.contacts }),
  };
}

/** How long a command waits for a service to deliver. */
const DELIVERY_WAIT_MS = 15 * SECOND;
const LOOK_MS = SECOND / 5;

/** Whoever is sent changes gets the deletion, and all before it, while they have the key. Kind `failed` where that does not come to pass. */
async function awaitReceivers({ session, database, source, place, key }: Erasure): Promise<void> {
  const { clock, signal } = session;
  const { resource } = place;
  const behind = () => receiversBefore(database.kysely, place.source, { schema: source.schema, resource, key });
  let names = await behind();
  for (const until = clock.elapsed() + DELIVERY_WAIT_MS; names.length > 0 && clock.elapsed() < until; ) {
    await clock.sleep(LOOK_MS, signal);
    names = await behind();
  }
  if (names.length === 0) return;
  throw new SluiceError(
    'failed',
    `${listed(names)} ${names.length === 1 ? 'has' : 'have'} not been sent yet that ${resource} ${key} is deleted. Its versions and all else were not erased.`,
    {
      next: 'Run this command again once "sluice notify list" shows no change before it. A receiver that is no longer used: sluice notify remove <name>.',
    },
  );
}

async function eraseAll(tx: Transaction, { session, place, job, table, key }: Erasure, marks: Marks): Promise<Counts> {
  const counts = await eraseRow(tx, table, place, key);
  // Resources that can be pushed and not listed.
  const unlisted = Object.keys(PUSH_TARGETS).filter(target => !session.jobs.has(target));
  const lines = await eraseLines(tx, place, { key, ...marks, unlisted });
  if (lines > 0) counts['sluice.push_items'] = lines;
  const all = [...marks.contacts, ...marks.names];
  for (const [named, rows] of Object.entries(await eraseMentions(tx, place, { keyField: job.key, key, marks: all })))
    counts[named] = (counts[named] ?? 0) + rows;
  return counts;
}

/** Runs `work` in a transaction, which a dry run rolls back. */
async function inTransaction<T>(
  database: Database,
  dryRun: boolean,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  let result: { value: T } | undefined;
  const undo = new Error('dry run');
  await database
    .transaction(async tx => {
      result = { value: await work(tx) };
      if (dryRun) throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return (result as { value: T }).value;
}

function whoRuns(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // Containers may run under a number without a name.
    return `uid ${process.getuid?.() ?? 'unknown'}@${hostname()}`;
  }
}

/** Throws the kind `failed` while the source shows the record: the next reading would bring it back. */
async function checkGone(record: Erasure): Promise<void> {
  const { database, table, place, key } = record;
  const { source, resource } = place;
  const state = await readRecordState(database.kysely, table, place, key);
  const answer = await askAddress(record);
  // The addresses were seen to answer for deleted records as well, or to deny others, so that only the list tells.
  const isKnownToLie = (await readTraits(database.kysely, source)).some(
    each => each.resource === resource && each.trait === 'address' && each.value === 'no 404',
  );
  if (answer === 'deleted' || (answer === '404' && !isKnownToLie)) return;
  if (answer === 'shown' && !isKnownToLie)
    throw new SluiceError('failed', `The source still shows ${resource} ${key}, so nothing was erased.`, {
      next: 'Delete the record at the source, then run this command again.',
    });
  if ((!state.isStored || state.isMissing) && !state.isQuarantined) return;
  throw new SluiceError('failed', `The last reading of ${resource} still showed ${key}, so nothing was erased.`, {
    next: `Delete the record at the source, run "sluice sync ${resource} --full", then run this command again.`,
  });
}

/** Asks the record's own address, where its list has such; `unknown`: it has none, or it says nothing of the record. */
async function askAddress({ session, database, source, place, job, key, noWait }: Erasure) {
  const slicing = slicingOf(job, 'one');
  if (!slicing) return 'unknown';
  // The ledger of requests must not name what is being erased.
  const context = { lane: 'live', purpose: `forget ${place.resource}`, signal: session.signal } as const;
  const path = slicing.path.replace('{key}', encodeURIComponent(key));
  try {
    const given = { database, source, noWait, waitsAs: 'forget' };
    const answer = await withClient(session, given, client => client.get(path, context));
    if (answer.kind === 'gone' && answer.instead === undefined) return '404';
    return answer.kind === 'one' && deletionMark(answer.record) === null ? 'shown' : 'deleted';
  } catch (error) {
    if (isKind(error, 'refused') && error.status !== 403) return 'unknown';
    throw error;
  }
}

function collectTexts(text: string, before: readonly string[]): string[] {
  if (text.trim().length >= SHORTEST_MARK) return [...before, text.trim()];
  throw new InvalidArgumentError(
    `Expected at least ${SHORTEST_MARK} characters, since a shorter text stands in other records.`,
  );
}
