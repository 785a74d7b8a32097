import type pg from 'pg';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import type { Budget } from '../../../src/budget/budget.ts';
import { SECOND } from '../../../src/clock.ts';
import type { Job } from '../../../src/engine/job.ts';
import { newMemory } from '../../../src/engine/run/agenda.ts';
import type { LoopEvent } from '../../../src/engine/run/engine.ts';
import { runLoop } from '../../../src/engine/run/loop.ts';
import { createLog, type Log } from '../../../src/log.ts';
import { type Database, openDatabase } from '../../../src/warehouse/database/database.ts';
import { acquireSourceLock, type SourceLock } from '../../../src/warehouse/database/source-lock.ts';
import { openEngine } from '../../support/source.ts';
import type { VirtualClock } from '../../support/virtual-clock.ts';
import { type Crash, isEndless, type Plan } from '../plan/plan.ts';

/** How a process ended: by itself, with an error of the engine, or killed. */
export type Outcome = { readonly end: 'done' | 'killed' } | { readonly end: 'failed'; readonly error: unknown };

/** A Sluice process: its connections, its requests and its end. */
export interface Process {
  /** Serves until nothing is due. */
  run(slots: boolean): Promise<Outcome>;
  /** Asks it to stop, as Ctrl-C does. */
  stop(): void;
  /** Releases the lock without the process noticing. */
  loseLock(): Promise<void>;
  readonly busy: boolean;
  /** What it waits for, if nothing moves. */
  describe(): string;
  close(): Promise<void>;
}

/** As SOURCE_LAG_SECONDS is by default. */
export const LAG_MS = 60 * SECOND;

/** How long virtual time waits for a request in flight. A request that hangs must not hold time up. */
const PATIENCE_MS = { usual: 5000, endless: 30 };

/** Opens a process that holds the lock of the source; null when another process holds it. */
export async function openProcess(options: {
  url: string;
  name: string;
  plan: Plan;
  sandbox: Sandbox;
  clock: VirtualClock;
  crash: Crash | undefined;
  /** The lists that it reads. */
  jobs: Readonly<Record<string, Job>>;
  log?: Log;
  onEvent: (event: LoopEvent, self: Process) => void;
}): Promise<Process | null> {
  const { plan, sandbox, clock, crash } = options;
  const database = await openDatabase({
    url: options.url,
    applicationName: options.name,
    log: createLog({ level: 'silent' }),
  });
  const life = watchConnections(database, crash?.kind === 'kill' ? crash : undefined);
  let lockClient: pg.Client | undefined;
  const lockable: Database = {
    ...database,
    connect: async name => {
      lockClient = await database.connect(name);
      life.add(lockClient);
      return lockClient;
    },
  };
  let lock: SourceLock | null;
  try {
    lock = await acquireSourceLock(lockable, 'main');
  } catch (error) {
    await database.close();
    throw error;
  }
  if (!lock) {
    await database.close();
    return null;
  }
  const held = lock;

  const underWay = new Map<string, number>();
  let requests = 0;
  let isRunning = false;
  const budgetCalls = new Set<string>();
  const noted = async <T>(call: string, work: Promise<T>): Promise<T> => {
    budgetCalls.add(call);
    return work.finally(() => budgetCalls.delete(call));
  };
  const stop = new AbortController();
  const opening = openEngine(database, sandbox, {
    clock,
    limit: plan.limit,
    windowMs: plan.windowMs,
    concurrency: plan.concurrency,
    pageSize: plan.pageSize,
    jobs: options.jobs,
    ...(options.log ? { log: options.log } : {}),
    timeoutMs: plan.timeoutMs,
    lagMs: LAG_MS,
    onEvent: event => {
      if (!life.dead) options.onEvent(event, self);
    },
    wrapBudget: ledger => countRequests(ledger),
  });
  const engine = await opening.catch((error: unknown) => {
    if (life.dead) return null;
    throw error;
  });

  function countRequests(ledger: Budget): Budget {
    return {
      async take(lane, want) {
        // As in reality, no two requests are granted at the same moment.
        await clock.advance(1);
        const taken = await noted(`take ${lane}`, ledger.take(lane, want));
        for (const grant of taken.grants) underWay.set(grant.id, performance.now());
        requests += taken.grants.length;
        if (crash?.kind === 'kill at request' && requests >= crash.atRequest && !life.dead)
          setImmediate(() => life.kill());
        return taken;
      },
      async settle(grant, settlement) {
        await noted(`settle ${grant.id}`, ledger.settle(grant, settlement)).finally(() => underWay.delete(grant.id));
      },
      flush: () => noted('flush', ledger.flush()),
      async release(grants) {
        for (const grant of grants) underWay.delete(grant.id);
        await ledger.release(grants);
      },
    };
  }

  const self: Process = {
    async run(slots) {
      if (!engine) return { end: 'killed' };
      isRunning = true;
      return runLoop(engine, { orders: () => true, slots, ...(plan.asks ? { agenda: newMemory() } : {}) }, stop.signal)
        .then(
          (): Outcome => ({ end: life.dead ? 'killed' : 'done' }),
          (error: unknown): Outcome => (life.dead ? { end: 'killed' } : { end: 'failed', error }),
        )
        .finally(() => {
          isRunning = false;
        });
    },
    stop: () => stop.abort(),
    async loseLock() {
      await lockClient?.query('select pg_advisory_unlock_all()');
    },
    get busy() {
      if (life.dead) return false;
      const { totalCount, idleCount, waitingCount } = database.pool;
      if (totalCount > idleCount || waitingCount > 0) return true;
      const patience = isEndless(plan.variants.fault) ? PATIENCE_MS.endless : PATIENCE_MS.usual;
      return [...underWay.values()].some(since => performance.now() - since < patience);
    },
    describe() {
      const { totalCount, idleCount, waitingCount } = database.pool;
      const ages = [...underWay.values()].map(since => Math.round((performance.now() - since) / SECOND));
      return `${isRunning ? 'in its loop' : 'not in its loop'}${life.dead ? ', dead' : ''}${stop.signal.aborted ? ', stopped' : ''}; requests under way since ${ages.join(', ') || 'none'} s; budget: ${[...budgetCalls].join(', ') || 'idle'}; connections ${totalCount}, idle ${idleCount}, waited for ${waitingCount}`;
    },
    async close() {
      await engine?.close().catch(() => undefined);
      await held.release();
      await database.close().catch(() => undefined);
    },
  };
  return self;
}

interface Life {
  readonly dead: boolean;
  add(client: pg.Client): void;
  kill(): void;
}

/** Keeps track of every connection of a process, so that all can break at once. */
function watchConnections(database: Database, crash: Extract<Crash, { kind: 'kill' }> | undefined): Life {
  const clients = new Set<pg.Client | pg.PoolClient>();
  const { pool } = database;
  let dead = false;
  let queries = 0;

  const kill = () => {
    dead = true;
    for (const client of clients) streamOf(client).destroy();
  };
  const follow = (client: pg.PoolClient) => {
    if (clients.has(client)) return;
    clients.add(client);
    client.once('end', () => clients.delete(client));
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    client.query = ((...args: unknown[]) => {
      queries++;
      const due = !dead && crash !== undefined && queries === crash.atQuery;
      if (due && crash.moment === 'before') kill();
      const result = query(...args);
      if (due && crash.moment === 'after') kill();
      if (due && crash.moment === 'later') setTimeout(kill, 1);
      return result;
    }) as typeof client.query;
  };
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
  pool.connect = ((callback?: (error: unknown, client?: pg.PoolClient, release?: unknown) => void) => {
    const client = dead
      ? Promise.reject(Object.assign(new Error('The process is dead.'), { code: 'ECONNREFUSED' }))
      : connect().then(got => {
          follow(got);
          if (dead) streamOf(got).destroy();
          return got;
        });
    if (!callback) return client;
    client.then(
      got => callback(undefined, got, (error?: Error) => got.release(error)),
      error => callback(error),
    );
    return undefined;
  }) as typeof pool.connect;
  return {
    get dead() {
      return dead;
    },
    add: client => clients.add(client),
    kill,
  };
}

const streamOf = (client: pg.ClientBase) =>
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream;
