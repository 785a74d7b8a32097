import { Logger, makeWorkerUtils, type Runner, run } from 'graphile-worker';
import { MINUTE, SECOND } from '../../clock.ts';
import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { LOCK_KEY, lockName } from '../../warehouse/database/lock-key.ts';
import { createReadingTurns, type ReadingTurns, type TurnOptions } from './reading-turns.ts';

const AGAIN_MS = MINUTE;
const RESTART_MS = 5 * SECOND;
/** A source that the queue has not woken for so long, as may happen after a database outage, is woken by its own process. */
const FORGOTTEN_MS = 2 * MINUTE;

type WakeUpOptions = TurnOptions & { readonly database: Database };

/** Wakes each source once a minute and whenever `wakeUp` asks for it, in one of the processes that serve it. */
export async function startWakeUps(options: WakeUpOptions): Promise<{
  /** Resolves when no source is awake any more. */
  stop(): Promise<void>;
}> {
  const { database, sources, most, log } = options;
  const queueAgain = (source: string, at: Date | null) =>
    at === null ? wakeUp(database, source) : addWakeUp(database, source, at);
  const turns = createReadingTurns(options, queueAgain);
  const onWakeUp = (source: string) => turns.onWakeUp(source);
  const start = () => runQueue({ database, sources, most, onWakeUp, log });
  const first = await withQueueLock(database, start);
  const stopping = new AbortController();
  let adding: Promise<void> = Promise.resolve();
  const add = () => {
    adding = adding.then(() => wakeAll(options, turns, stopping.signal));
  };
  add();
  // The database is back: what was interrupted continues at once.
  const queue = keepRunning(first, { start, onRestart: add, log });
  const timer = setInterval(add, AGAIN_MS);
  return {
    async stop() {
      stopping.abort();
      turns.stop();
      clearInterval(timer);
      // First, so that it takes no more wake-ups from other processes; it ends once its jobs have.
      const stopped = queue.stop();
      await adding;
      await turns.ended();
      await stopped;
    },
  };
}

/** Queues a wake-up for every source, and wakes those that the queue has forgotten. */
async function wakeAll(
  { database, sources, log }: WakeUpOptions,
  turns: ReadingTurns,
  stopping: AbortSignal,
): Promise<void> {
  for (const source of sources) {
    // With every turn taken, the queue is long rather than forgetful.
    if (stopping.aborted || turns.isFull) break;
    if (turns.isForgotten(source, FORGOTTEN_MS)) void turns.onWakeUp(source);
  }
  try {
    // One at a time: all at once would take the connections from the readers.
    for (const source of sources) if (!stopping.aborted) await addWakeUp(database, source, null);
  } catch (error) {
    log.warn({ reason: explain(error) }, 'could not queue wake-ups; retrying within a minute');
  }
}

/** Starts the queue's runner again whenever it ends, as it does when the database is away for longer than it retries. */
function keepRunning(
  first: Runner,
  { start, onRestart, log }: { start: () => Promise<Runner>; onRestart: () => void; log: Log },
): { stop(): Promise<void> } {
  let runner = first;
  let stopped = false;
  const watch = async () => {
    for (let isDown = false; !stopped; ) {
      if (!isDown)
        await runner.promise.catch(error => log.warn({ reason: explain(error) }, 'wake-up queue ended; restarting it'));
      if (!stopped) await new Promise(resolve => setTimeout(resolve, RESTART_MS));
      if (stopped) return;
      try {
        runner = await start();
        isDown = false;
        onRestart();
      } catch (error) {
        isDown = true;
        // At debug level: an outage may last for hours, and has been logged once.
        log.debug({ reason: explain(error) }, 'could not restart the wake-up queue');
      }
    }
    // Started while it was being stopped.
    await runner.stop().catch(() => undefined);
  };
  const watching = watch();
  return {
    async stop() {
      stopped = true;
      await runner.stop().catch(() => undefined);
      await watching;
    },
  };
}

/** The schema of graphile-worker. Its tables hold no state that matters; they may be dropped while no service runs. */
const SCHEMA = 'graphile_worker';
/** One task for each source: with a common task, a process would take, and lose, wake-ups of sources that only others serve. */
const taskOf = (source: string): string => `read ${source}`;

/**
 * Starts taking wake-ups of `sources` from the queue. Each source has one job without payload, whose key is its name. A job locked by a
 * killed process stays locked for hours but blocks nothing: adding its key again creates a new one, and a later start deletes the old.
 * A `queueName` would be blocked with it.
 */
async function runQueue(options: {
  database: Database;
  sources: readonly string[];
  most: number;
  onWakeUp: (source: string) => Promise<void>;
  log: Log;
}): Promise<Runner> {
  const { database, sources, most, onWakeUp, log } = options;
  const logger = new Logger(() => (level, message) => {
    const matters = level === 'error' || level === 'warning';
    log[matters ? 'warn' : 'debug']({ from: 'graphile-worker' }, message);
  });
  const queue = { pgPool: database.pool, schema: SCHEMA, logger };
  const utils = await makeWorkerUtils(queue);
  try {
    await utils.migrate();
    await utils.cleanup({ tasks: ['DELETE_PERMAFAILED_JOBS'] });
  } finally {
    await utils.release();
  }
  return run({
    ...queue,
    taskList: Object.fromEntries(sources.map(source => [taskOf(source), () => onWakeUp(source)])),
    // One more than may read at once, so that a wake-up for a source being read does not delay another. Each polls the queue every
    // two seconds: one per source would be 100 queries a second for 200 sources.
    concurrency: most + 1,
    noHandleSignals: true,
    // Unbatched (the default), a job that cannot be completed because the connection dropped is an unhandled rejection, which ends
    // the process.
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
  });
}

/** Runs `work` in one process at a time: two that create the queue's schema at the same moment would both fail. */
async function withQueueLock<T>(database: Database, work: () => Promise<T>): Promise<T> {
  const client = await database.connect('sluice migrate');
  try {
    await client.query(`select pg_advisory_lock(${LOCK_KEY})`, [lockName('wake-ups')]);
    return await work();
  } finally {
    await client.end();
  }
}

/** Queues a wake-up at `at`, or now. One already queued keeps its time. */
async function addWakeUp(database: Database, source: string, at: Date | null): Promise<void> {
  await database.query(
    `select from ${SCHEMA}.add_job($1, run_at => $2, max_attempts => 1, job_key => $3, job_key_mode => 'preserve_run_at')`,
    [taskOf(source), at?.toISOString() ?? null, source],
  );
}

/** Wakes the service that reads `source` at once. Does nothing where no service ever ran. */
export async function wakeUp(database: Database, source: string): Promise<void> {
  const { rows } = await database.query<{ present: boolean }>(
    `select to_regproc('${SCHEMA}.add_job') is not null as present`,
  );
  if (!rows[0]?.present) return;
  // One already queued keeps its place: moved to the end at every tick, the last of many sources would never be read.
  await database.query(
    `select from ${SCHEMA}.add_job($1, max_attempts => 1, job_key => $2,
      run_at => least(now(), (select min(run_at) from ${SCHEMA}.jobs where key = $2 and locked_at is null)))`,
    [taskOf(source), source],
  );
}
