import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type Clock, MINUTE, SECOND, stopped, systemClock } from '../../clock.ts';
import { codeOf, SluiceError } from '../../errors.ts';
import type { Database, Queryable } from './database.ts';
import { LOCK_KEY, lockName } from './lock-key.ts';

export interface Waiting {
  readonly database: Database;
  /** Called with what a person may want to know meanwhile: each reason to wait once, and values that could not be converted. Default: nothing. */
  readonly onNotice?: (text: string) => void;
  /** Ends the wait with kind `stopped`; a migration that has begun is completed. Default: never. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

const TRY_EVERY_MS = SECOND / 4;
/** Whoever needs the table queues behind a migration for so long. Below `deadlock_timeout` (1 s): the migration gives way, not a reader. */
const LOCK_TIMEOUT_MS = SECOND / 2;
const LOCK_AGAIN_MS = 10 * SECOND;
/** Longer than the login that may only read may idle in a transaction. */
const MOST_LOCKED_MS = 5 * MINUTE;

/** Makes this session the only one that migrates. Polls: a session that waits for the lock obeys no signal, and shows nobody what it waits for. */
export async function lockMigrations(
  client: pg.Client,
  { database, clock = systemClock, signal, onNotice }: Waiting,
): Promise<void> {
  for (let tries = 0; ; tries++) {
    if (signal?.aborted) throw stopped(signal);
    const { rows } = await client.query<{ locked: boolean }>(`select pg_try_advisory_lock(${LOCK_KEY}) as locked`, [
      lockName('migrate'),
    ]);
    if (rows[0]?.locked) break;
    if (tries === 0)
      onNotice?.(`Another process is migrating the database at ${database.place}; waiting until it has finished.`);
    await clock.sleep(TRY_EVERY_MS, signal);
  }
  await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`);
}

/** Does `work` again as long as a lock makes it fail. In between it holds no lock and waits for none, so that others read on. */
export async function untilUnlocked<T extends { readonly error?: unknown }>(
  client: pg.Client,
  schema: string,
  { database, clock = systemClock, signal, onNotice }: Waiting,
  work: () => Promise<T>,
): Promise<T> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const deadline = clock.now() + MOST_LOCKED_MS;
  for (let told: string | undefined; ; ) {
    if (signal?.aborted) throw stopped(signal);
    const { result, blockers } = await noteBlockers(database, rows[0]?.pid as number, work());
    if (!LOCKED.has(codeOf(result.error))) return result;
    const who = blockers.map(({ text }) => text).join(', ') || 'another session';
    const message = `The tables of schema "${schema}" at ${database.place} must be migrated, but ${who} keeps a lock on one of them.`;
    const ends = blockers.flatMap(({ pid }) => (pid > 0 ? [`select pg_terminate_backend(${pid})`] : []));
    const next = `Wait until it has finished, or end it as its user or an administrator${ends.map(each => `: ${each}`).join('')}`;
    if (clock.now() >= deadline)
      throw new SluiceError('database', `${message} Nothing was changed.`, {
        next: `${next}; then repeat the command.`,
        cause: result.error,
      });
    const pids = blockers.map(({ pid }) => pid).join();
    if (pids !== told) onNotice?.(`${message} Trying again for ${MOST_LOCKED_MS / MINUTE} minutes. ${next}`);
    told = pids;
    await clock.sleep(LOCK_AGAIN_MS, signal);
  }
}

/** 55P03: the lock was not available in time; 40P01: a deadlock. */
const LOCKED = new Set(['55P03', '40P01']);

const LOOK_EVERY_MS = 100;

/** A session that keeps a lock; a prepared transaction has the process 0. */
interface Blocker {
  readonly pid: number;
  readonly text: string;
}

interface Session {
  readonly pid: number;
  readonly user: string | null;
  readonly application: string | null;
  readonly state: string | null;
  readonly seconds: number | null;
  readonly query: string | null;
}

/** Does `work` in the session `pid`, and notes for whom it had to wait last. */
async function noteBlockers<T>(
  database: Queryable,
  pid: number,
  work: Promise<T>,
): Promise<{ result: T; blockers: readonly Blocker[] }> {
  const over = new AbortController();
  let blockers: readonly Blocker[] = [];
  const look = async () => {
    while (!over.signal.aborted) {
      const { rows } = await database.query<Session & Record<string, unknown>>(BLOCKERS, [pid]);
      if (rows.length > 0) blockers = rows.map(row => ({ pid: row.pid, text: describe(row) }));
      await delay(LOOK_EVERY_MS, undefined, { signal: over.signal });
    }
  };
  const looking = look().catch(() => undefined);
  try {
    return { result: await work, blockers };
  } finally {
    over.abort();
    await looking;
  }
}

const BLOCKERS = `
  select pid, usename as user, application_name as application, state, query,
    extract(epoch from clock_timestamp() - coalesce(state_change, xact_start))::int as seconds
  from unnest(pg_blocking_pids($1::int)) as blocker(pid) left join pg_stat_activity using (pid)`;

function describe({ pid, user, application, state, seconds, query }: Session): string {
  if (pid === 0) return 'a prepared transaction (see pg_prepared_xacts)';
  const facts = [
    ...(user ? [`user ${user}`] : []),
    ...(application ? [`application "${application}"`] : []),
    ...(state ? [`${state} for ${seconds} s`, `query: ${firstWords(query ?? '')}`] : []),
  ];
  return `process ${pid}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}`;
}

const MOST_WORDS = 8;

/** The beginning of a query without literals, which may be secrets; what follows TO may be one, as in SET. */
function firstWords(query: string): string {
  const words = query.trim().split(/\s+/);
  const end = words.findIndex(word => /^to$/i.test(word) || !/^(?:[a-z_]\w*|[.,*()])+$/i.test(word));
  const shown = words.slice(0, Math.min(end < 0 ? words.length : end, MOST_WORDS));
  return [...shown, ...(shown.length < words.length ? ['..'] : [])].join(' ');
}
