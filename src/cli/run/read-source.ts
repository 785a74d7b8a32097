import { withAnySignal } from '../../any-signal.ts';
import type { Budget } from '../../budget/budget.ts';
import type { LoopEvent, Serves } from '../../engine/run/engine.ts';
import { runLoop } from '../../engine/run/loop.ts';
import { openEngine } from '../../engine/run/open-engine.ts';
import { isKind, SluiceError } from '../../errors.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { acquireSourceLock } from '../../warehouse/database/source-lock.ts';
import type { OpenSource, Session } from '../session/session.ts';
import { jobsOf } from '../session/source-jobs.ts';
import { agendaRules, openLedger, recognise } from '../session/source-settings.ts';
import { checkDeclared } from './pending-migrations.ts';

/** Short beside the time that an answer takes, and long enough for several of a source without a limit. */
const GATHER_MS = 20;

/**
 * Reads a source under its lock until nothing of what `serves` names is due. Returns false at once if another process holds the lock, and as
 * soon as one has moved a cursor, because it reads or has undone runs: what is left is read from the last commit, under the lock taken anew.
 */
export async function readSource(
  session: Pick<Session, 'jobs' | 'clock' | 'log' | 'settings' | 'signal'>,
  given: {
    readonly database: Database;
    readonly source: OpenSource;
    /** What others are told reads the source; null for a service. */
    readonly command: string | null;
    readonly noWait: boolean;
    /** Bounds the requests of this process further. */
    readonly limited?: ((budget: Budget) => Budget) | undefined;
    readonly onEvent: (event: LoopEvent) => void;
  },
  serves: Serves,
): Promise<boolean> {
  const { database, source, command, noWait, limited, onEvent } = given;
  const lock = await acquireSourceLock(database, source.name, command);
  if (!lock) return false;
  try {
    const ledger = openLedger(database, source);
    const { clock, log } = session;
    const engine = await openEngine({
      ...{ database, clock, log, noWait, onEvent },
      retention: session.settings.retention,
      // Each time: sync --moved or reset may have resolved it.
      findRefusal: () => findRefusal(session, database, source),
      ...source.settings,
      jobs: jobsOf(source, session.jobs, session.settings.hashKey),
      source: source.name,
      schema: source.schema,
      gatherMs: GATHER_MS,
      ...agendaRules(source),
      budget: limited?.(ledger) ?? ledger,
      forecast: () => ledger.forecast(),
    });
    try {
      await withAnySignal([session.signal, lock.lost], ({ signal }) => runLoop(engine, serves, signal));
    } finally {
      await engine.close();
    }
  } catch (error) {
    if (!isKind(error, 'stale')) throw error;
    session.log.info({ source: source.name }, error.message);
    return false;
  } finally {
    await lock.release();
  }
  return true;
}

/** Why the source may not be read: it is a different installation than before, or its lists were declared anew. Null if it may. */
export const findRefusal = (
  session: Pick<Session, 'jobs' | 'settings'>,
  database: Database,
  source: OpenSource,
): Promise<SluiceError | null> =>
  recognise(database, source)
    .then(() => checkDeclared(session, database, source))
    .then(
      () => null,
      (error: unknown) => {
        if (isKind(error, 'configuration')) return error;
        throw error;
      },
    );

/**
 * Caps the pool at this process's share of Postgres's connections and returns how many sources it may read at once. A process
 * takes at most three tenths of max_connections, so that three processes and some people fit: 200 sources with six connections
 * each were refused, and nothing was read. Each source read holds one connection for its lock, and a service one that listens; the rest
 * are held only during a query, so one more per source is enough. `others`: what the process takes besides.
 */
export async function limitConnections(database: Database, sources: number, others = 0): Promise<number> {
  const { rows } = await database.query<{ most: number }>("select current_setting('max_connections')::int as most");
  const share = Math.max(Math.floor(0.3 * (rows[0]?.most ?? 0)) - others, 8);
  const atOnce = Math.min(sources, Math.floor((share - 1) / 2));
  database.pool.options.max = Math.min(6 + 5 * atOnce, share - atOnce - 1);
  return atOnce;
}

/** Bounds the requests of all budgets that it wraps to `most` together; kind `quota` for the next, once those sent are answered. */
export function limitRequests(most: number): (budget: Budget) => Budget {
  let left = most;
  const open = new Set<string>();
  let answered: (() => void)[] = [];
  const close = (ids: readonly string[]) => {
    for (const id of ids) open.delete(id);
    if (open.size > 0) return;
    for (const resolve of answered) resolve();
    answered = [];
  };
  return budget => ({
    async take(lane, want, kept) {
      // What is in flight is still read and kept; a grant that comes back unused may be taken again.
      while (left === 0 && open.size > 0) await new Promise<void>(resolve => answered.push(resolve));
      if (left === 0)
        throw new SluiceError('quota', `Stopped after ${most} requests, as --max-requests says.`, {
          next: 'Run the same command again to continue. Everything read so far is kept.',
        });
      const reserved = Math.min(want, left);
      left -= reserved;
      let used = 0;
      try {
        const taken = await budget.take(lane, reserved, kept);
        used = taken.grants.length;
        for (const { id } of taken.grants) open.add(id);
        return taken;
      } finally {
        left += reserved - used;
      }
    },
    async settle(grant, settlement) {
      try {
        await budget.settle(grant, settlement);
      } finally {
        close([grant.id]);
      }
    },
    flush: () => budget.flush(),
    async release(grants) {
      left += grants.length;
      try {
        await budget.release(grants);
      } finally {
        close(grants.map(grant => grant.id));
      }
    },
  });
}
