import { Logger, run } from 'graphile-worker';
import pLimit from 'p-limit';
import { MINUTE, SECOND } from '../../clock.ts';
import { explain, SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';

/** Where graphile-worker keeps its tables; nothing in them is the truth, and they may be dropped while no service runs. */
const SCHEMA = 'graphile_worker';
/** A task for each source: of one task for all, a process would take, and lose, the wake-ups of sources that only others serve. */
const taskOf = (source: string): string => `read ${source}`;
const AGAIN_MS = MINUTE;
const RESTART_MS = 5 * SECOND;
/** A process that the queue has forgotten for so long, as it may after an outage of the database, wakes itself. */
const FORGOTTEN_MS = 2 * MINUTE;
/** Where others wait for a place, a source gives up its own after this time, and queues again. */
const TURN_MS = MINUTE;

export interface WakeUps {
  /** Ends when none of the wakings is under way any more. */
  stop(): Promise<void>;
}

/**
 * Hands out wake-ups by graphile-worker, to as many processes as there are: a job without payload for each source, whose key is
 * the source's name, added again every minute. Whoever gets it calls `wake`, which has to find out by itself what is due and
 * whether another process is at it. A job that a killed process had locked stays so for hours and holds up nothing: added again
 * under its key, it is a new one. For that reason there is no `queueName`, which would be held up with it.
 */
export async function startWakeUps(options: {
  database: Database;
  sources: readonly string[];
  /** Wakings at the same time; the others wait their turn, oldest wake-up first. */
  most: number;
  /**
   * Never called twice at the same time for one source; resolves with when it wants to be called again, if that is known. Once
   * `turn` aborts, others wait for its place: it is to come to an end, and is called again when it is its turn.
   */
  wake: (source: string, turn: AbortSignal) => Promise<Date | null>;
  /** How long a source may keep others waiting. Default: a minute. */
  turnMs?: number;
  log: Log;
}): Promise<WakeUps> {
  const { database, sources, most, log, turnMs = TURN_MS } = options;
  const inTurn = pLimit(most);
  /** By source, what it is doing; `again` when it was woken meanwhile. */
  const awake = new Map<string, { again: boolean; done: Promise<void> }>();
  const wokenAt = new Map(sources.map(source => [source, performance.now()]));
  let stopped = false;
  const logger = new Logger(() => (level, message) => {
    const matters = level === 'error' || level === 'warning';
    log[matters ? 'warn' : 'debug']({ from: 'graphile-worker' }, message);
  });

  async function wake(source: string, self: { again: boolean }): Promise<void> {
    do {
      self.again = false;
      const turn = new AbortController();
      const begunAt = performance.now();
      const timer = setInterval(
        () => {
          if (inTurn.pendingCount === 0 || performance.now() - begunAt < turnMs) return;
          turn.abort(new SluiceError('stopped', 'Other sources wait for their turn; this one goes on in its next.'));
        },
        Math.min(turnMs, SECOND),
      );
      try {
        const at = stopped ? null : await options.wake(source, turn.signal);
        // Who stops hands its sources over: the others need not wait for the next minute.
        const goesOn = stopped || turn.signal.aborted || (self.again && inTurn.pendingCount > 0);
        // Now is behind all that are due.
        if (at || goesOn) await addWakeUp(database, source, goesOn ? null : at);
      } catch (error) {
        // A retry by the queue would come later and later; the next wake-up comes within a minute.
        const kind = error instanceof SluiceError ? error.kind : 'bug';
        log.error({ source, kind, ...(kind === 'bug' ? { err: error } : {}) }, explain(error));
      } finally {
        clearInterval(timer);
      }
    } while (self.again && !stopped && inTurn.pendingCount === 0);
    awake.delete(source);
  }

  async function onWakeUp(source: string): Promise<void> {
    wokenAt.set(source, performance.now());
    const busy = awake.get(source);
    if (busy) {
      busy.again = true;
      return;
    }
    const self = { again: false, done: Promise.resolve() };
    awake.set(source, self);
    self.done = inTurn(() => wake(source, self));
    await self.done;
  }

  const start = () =>
    run({
      pgPool: database.pool,
      schema: SCHEMA,
      taskList: Object.fromEntries(sources.map(source => [taskOf(source), () => onWakeUp(source)])),
      // One more than can be busy reading, so that a wake-up for one that is does not keep another waiting. Each asks the queue
      // every two seconds, so that one for each source would be 100 queries a second for 200 sources.
      concurrency: most + 1,
      noHandleSignals: true,
      // Unbatched (the default), a job that cannot be ended because the connection dropped is a rejection that nobody handles, and
      // that ends the process.
      preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      logger,
    });

  let runner = await afterOthers(database, start);
  const watch = async () => {
    while (!stopped) {
      // Ends by itself when the database was away for longer than it tries; then a new one is started.
      await runner.promise.catch(error =>
        log.warn({ reason: explain(error) }, 'wake-ups stopped, and are started again'),
      );
      for (let started = false; !started && !stopped; ) {
        await new Promise(resolve => setTimeout(resolve, RESTART_MS));
        if (stopped) return;
        try {
          runner = await start();
          started = true;
        } catch (error) {
          // One line for an outage is enough; it may last for hours.
          log.debug({ reason: explain(error) }, 'wake-ups could not be started');
        }
      }
      if (stopped) await runner.stop().catch(() => undefined);
    }
  };
  const add = async () => {
    for (const source of sources) {
      // While as many are awake as may be, the queue is not forgetful but long.
      if (stopped || awake.size >= most) break;
      if (performance.now() - (wokenAt.get(source) ?? 0) > FORGOTTEN_MS) void onWakeUp(source);
    }
    try {
      // One after the other: all at once would take the connections from those who read.
      for (const source of sources) if (!stopped) await addWakeUp(database, source, null);
    } catch (error) {
      log.warn({ reason: explain(error) }, 'wake-ups could not be added');
    }
  };
  const watching = watch();
  let adding = add();
  const timer = setInterval(() => {
    adding = adding.then(add);
  }, AGAIN_MS);
  return {
    async stop() {
      stopped = true;
      clearInterval(timer);
      // At once, so that it takes no more wake-ups from the others; it ends with those under way.
      const ended = runner.stop().catch(() => undefined);
      await adding;
      await Promise.all([...awake.values()].map(each => each.done));
      await ended;
      await watching;
    },
  };
}

/** One process at a time makes the tables: two that create the schema at the same moment would both fail. */
async function afterOthers<T>(database: Database, work: () => Promise<T>): Promise<T> {
  const client = await database.connect('sluice migrate');
  try {
    await client.query("select pg_advisory_lock(hashtextextended('sluice wake-ups', 0))");
    return await work();
  } finally {
    await client.end();
  }
}

/** Keeps an earlier one: only what is new moves a wake-up forward. */
async function addWakeUp(database: Database, source: string, at: Date | null): Promise<void> {
  await database.query(
    `select from ${SCHEMA}.add_job($1, run_at => $2, max_attempts => 1, job_key => $3, job_key_mode => 'preserve_run_at')`,
    [taskOf(source), at?.toISOString() ?? null, source],
  );
}

/** Wakes a service, at once, because something is due that was not before; nothing happens where none ever ran. */
export async function wakeUp(database: Database, source: string): Promise<void> {
  const { rows } = await database.query<{ present: boolean }>(
    `select to_regproc('${SCHEMA}.add_job') is not null as present`,
  );
  if (!rows[0]?.present) return;
  // What waits its turn keeps its place: moved to the end at every tick, the last of many sources would never be read.
  await database.query(
    `select from ${SCHEMA}.add_job($1, max_attempts => 1, job_key => $2,
      run_at => least(now(), (select min(run_at) from ${SCHEMA}.jobs where key = $2 and locked_at is null)))`,
    [taskOf(source), source],
  );
}
