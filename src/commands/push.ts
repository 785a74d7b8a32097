import { basename } from 'node:path';
import type { Command } from 'commander';
import { SECOND } from '../clock.ts';
import { runPush } from '../engine/push.ts';
import { checkLines, type Line } from '../engine/push-lines.ts';
import { createSender } from '../engine/push-sender.ts';
import { PUSH_TARGETS, type PushTarget } from '../engine/push-targets.ts';
import { openResource } from '../engine/resource.ts';
import { isKind, SluiceError } from '../errors.ts';
import { openClient } from '../source/client.ts';
import type { Database } from '../warehouse/database.ts';
import { endPush, knownStates, type PushState, readItems, startPush } from '../warehouse/pushes.ts';
import { acquireSourceLock, type SourceLock } from '../warehouse/source-lock.ts';
import { recogniseSource } from '../warehouse/sources.ts';
import { type Cli, newCommand, type Outcome, type Session } from './cli.ts';
import { wholeNumber } from './given.ts';
import { readLines } from './push-file.ts';
import { createPushProgress } from './push-progress.ts';
import { createReadBack } from './push-read-back.ts';
import { type Pushed, showPlan, showProblems, showPushed } from './push-report.ts';
import { isOpen, type OpenSource, openLedger } from './source-settings.ts';
import { bringUpToDate, whatIsPending } from './up-to-date.ts';

const EXAMPLE = `sluice push customers new.csv            check the file, and tell how many requests it takes
sluice push customers new.csv --yes      create what was not created yet
sluice push leads fair.ndjson --yes      one JSON object a line`;

/** How many entries a batch may hold is not documented. */
const BATCH = 100;

interface Options {
  readonly yes?: boolean;
  readonly wait: boolean;
  readonly batch: number;
  readonly resendUnknown?: boolean;
}

export function pushCommand(cli: Cli): Command {
  return newCommand('push', 'Create at the source what a file holds, each line once', EXAMPLE)
    .argument('<resource>', Object.keys(PUSH_TARGETS).join(', '))
    .argument('<file>', 'a .csv file with a header line, or an .ndjson file')
    .option('--yes', 'send it; without, nothing is sent')
    .option('--batch <n>', 'customers to a request', wholeNumber('--batch', 1, 1000), BATCH)
    .option('--resend-unknown', 'send once more what may have been created, and could not be looked for')
    .option('--no-wait', 'stop with exit code 75 instead of waiting for the request limit; the same command goes on')
    .action(cli.action({ source: true }, push));
}

async function push(session: Session, name: string, path: string, options: Options): Promise<Outcome> {
  const target = Object.hasOwn(PUSH_TARGETS, name) ? PUSH_TARGETS[name] : undefined;
  if (!target)
    throw new SluiceError('usage', `"${name}" cannot be pushed.`, {
      next: `What can be: ${Object.keys(PUSH_TARGETS).join(', ')}.`,
    });
  const { settings, terminal, jobs } = session;
  const { sourceName } = settings;
  const source = settings.sources.find(isOpen) as OpenSource;
  const file = basename(path);
  const { lines, problems } = await checkLines(target, readLines(path, target));
  if (problems.length > 0) return showProblems(terminal, { file, resource: name, good: lines.length, problems });
  if (lines.length === 0)
    throw new SluiceError('usage', `${path} holds no line to push.`, {
      next: 'Expected: a header and a line below it, or a JSON object a line.',
    });
  const database = await session.openDatabase();
  const place = { source: sourceName, resource: name };
  if (!options.yes) {
    const states = await statesOf(session, database, place, lines);
    const plan = { ...place, path, lines, states, target, listed: jobs.has(name), ...options };
    return showPlan(terminal, plan);
  }
  await bringUpToDate(session, database);
  await recogniseSource(database.kysely, { source: sourceName, url: source.settings.url, moved: false });
  const lock = await acquireSourceLock(database, `${sourceName}, push of ${name}`);
  if (!lock)
    throw new SluiceError('failed', `Another process is pushing ${name} to this source, so nothing was sent.`, {
      next: 'Wait until it has ended, or stop it; then repeat the command.',
    });
  try {
    const pushed = await send({ session, database, source, lock, name, target, file, lines, options });
    return showPushed(terminal, pushed);
  } finally {
    await lock.release();
  }
}

/** Nothing is migrated for a dry run; what is not there yet knows no line. */
async function statesOf(
  session: Session,
  database: Database,
  place: { source: string; resource: string },
  lines: readonly Line[],
): Promise<ReadonlyMap<string, PushState>> {
  if ((await whatIsPending(session, database)).length > 0) return new Map();
  const hashes = [...new Set(lines.map(line => line.hash))];
  return knownStates(database.kysely, place, hashes);
}

async function send(given: {
  session: Session;
  database: Database;
  source: OpenSource;
  lock: SourceLock;
  name: string;
  target: PushTarget;
  file: string;
  lines: readonly Line[];
  options: Options;
}): Promise<Pushed> {
  const { session, database, source, name, target, file, lines, options } = given;
  const { clock, log, jobs, terminal } = session;
  const { settings } = source;
  const { kysely } = database;
  const place = { source: source.name, resource: name };
  const signal = AbortSignal.any([session.signal, given.lock.lost]);
  const noWait = !options.wait;
  const job = jobs.get(name);
  const resource = job ? await openResource(database, { source: source.name, name, job, schema: source.schema }) : null;
  const pushId = await startPush(kysely, place, file, lines);
  const progress = createPushProgress(terminal, clock, name);
  const sender = createSender(openLedger(database, source.name, settings), budget =>
    openClient({
      ...settings,
      concurrency: 1,
      budget,
      noWait,
      clock,
      log,
      onWait: (_lane, waitMs) => progress.waiting(waitMs),
    }),
  );
  const end = (state: 'done' | 'failed' | 'stopped', reason: string | null) =>
    endPush(kysely, pushId, { state, reason, requests: sender.requests });
  const pushed = async (): Promise<Pushed> => ({
    ...place,
    file,
    items: await readItems(kysely, pushId),
    requests: sender.requests,
    listed: resource !== null,
  });
  try {
    await runPush({
      database,
      clock,
      signal,
      pushId,
      name,
      target,
      resource,
      sender,
      batchSize: options.batch,
      // A gateway may give up before the server behind it has.
      quietMs: 2 * settings.timeoutMs,
      resendUnknown: options.resendUnknown ?? false,
      readBack: createReadBack({ session: { ...session, signal }, database, source, name, noWait }),
      onQuietWait: waitMs =>
        terminal.note(
          `${name}: waiting ${Math.ceil(waitMs / SECOND)} s until the source must be done with what was not answered`,
        ),
      onSent: progress.sent,
    });
    await end('done', null);
    return await pushed();
  } catch (error) {
    const kept = isKind(error, 'stopped', 'quota');
    // The database may be what failed.
    await end(kept ? 'stopped' : 'failed', error instanceof Error ? error.message : String(error)).catch(
      () => undefined,
    );
    const items = await readItems(kysely, pushId).catch(() => []);
    const created = items.filter(item => item.state === 'created').length;
    if (items.length > 0) terminal.note(`${name}: ${created} of ${items.length} lines are created so far.`);
    throw error;
  } finally {
    await sender.close();
  }
}
