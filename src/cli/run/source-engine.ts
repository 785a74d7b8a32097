import { withAnySignal } from '../../any-signal.ts';
import type { Budget } from '../../budget/budget.ts';
import type { Engine, LoopEvent } from '../../engine/run/engine.ts';
import { runLoop } from '../../engine/run/loop.ts';
import { openEngine } from '../../engine/run/open-engine.ts';
import type { Serves } from '../../engine/run/serves.ts';
import type { SluiceError } from '../../errors.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { acquireSourceLock, type SourceLock } from '../../warehouse/database/source-lock.ts';
import type { Session } from '../session/session.ts';
import { agendaRules, jobsOf, type OpenSource, openLedger } from '../session/source-settings.ts';

export type OpenEngine = Engine & { close(): Promise<void> };

/** Short beside the time that an answer takes, and long enough for several of a source without a limit. */
const GATHER_MS = 20;

/** The engine of one source as the settings describe it. */
export function openSourceEngine(
  { jobs, clock, log, settings: { retention } }: Pick<Session, 'jobs' | 'clock' | 'log' | 'settings'>,
  given: {
    database: Database;
    source: OpenSource;
    noWait: boolean;
    refusal?: SluiceError | null;
    /** Bounds the requests of this process further. */
    limited?: ((ledger: Budget) => Budget) | undefined;
    onEvent: (event: LoopEvent) => void;
  },
): Promise<OpenEngine> {
  const { database, source, noWait, refusal = null, limited, onEvent } = given;
  const { name, schema, settings } = source;
  const ledger = openLedger(database, name, settings);
  return openEngine({
    ...{ database, clock, log, retention, noWait, refusal, onEvent },
    ...settings,
    jobs: jobsOf(source, jobs),
    source: name,
    schema,
    gatherMs: GATHER_MS,
    ...agendaRules(source),
    budget: limited?.(ledger) ?? ledger,
    forecast: () => ledger.forecast(),
  });
}

/**
 * Runs the loop under the source's lock until nothing of what `servesUnder` names is due. Returns false at once if another process holds
 * the lock.
 */
export async function readUnderLock(
  reading: {
    database: Database;
    source: string;
    /** What others are told reads the source; null for a service. */
    command: string | null;
    signal: AbortSignal;
    openEngine(): Promise<OpenEngine>;
  },
  servesUnder: (lock: SourceLock) => Serves,
): Promise<boolean> {
  const lock = await acquireSourceLock(reading.database, reading.source, reading.command);
  if (!lock) return false;
  try {
    const engine = await reading.openEngine();
    try {
      await withAnySignal([reading.signal, lock.lost], ({ signal }) => runLoop(engine, servesUnder(lock), signal));
    } finally {
      await engine.close();
    }
  } finally {
    await lock.release();
  }
  return true;
}

/**
 * Caps the pool at this process's share of Postgres's connections and returns how many sources it may read at once. A process
 * takes at most three tenths of max_connections, so that three processes and some people fit: 200 sources with six connections
 * each were refused, and nothing was read. Each source read holds one connection for its lock; the rest are held only during a
 * query, so one more per source is enough.
 */
export async function limitConnections(database: Database, sources: number): Promise<number> {
  const { rows } = await database.query<{ most: number }>("select current_setting('max_connections')::int as most");
  const share = Math.max(Math.floor(0.3 * (rows[0]?.most ?? 0)), 8);
  const atOnce = Math.min(sources, Math.floor((share - 1) / 2));
  database.pool.options.max = Math.min(6 + 5 * atOnce, share - atOnce);
  return atOnce;
}
