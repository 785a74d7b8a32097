import { Logger, makeWorkerUtils, type Runner, run } from 'graphile-worker';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { LOCK_KEY, lockName } from '../../warehouse/database/lock-key.ts';

/** The schema of graphile-worker. Its tables hold no state that matters; they may be dropped while no service runs. */
const SCHEMA = 'graphile_worker';
/** One task for each source: with a common task, a process would take, and lose, wake-ups of sources that only others serve. */
const taskOf = (source: string): string => `read ${source}`;

/**
 * Starts taking wake-ups of `sources` from the queue. Each source has one job without payload, whose key is its name. A job locked by a
 * killed process stays locked for hours but blocks nothing: adding its key again creates a new one, and a later start deletes the old.
 * A `queueName` would be blocked with it.
 */
export async function runQueue(options: {
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
export async function withQueueLock<T>(database: Database, work: () => Promise<T>): Promise<T> {
  const client = await database.connect('sluice migrate');
  try {
    await client.query(`select pg_advisory_lock(${LOCK_KEY})`, [lockName('wake-ups')]);
    return await work();
  } finally {
    await client.end();
  }
}

/** Queues a wake-up at `at`, or now. One already queued keeps its time. */
export async function addWakeUp(database: Database, source: string, at: Date | null): Promise<void> {
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
