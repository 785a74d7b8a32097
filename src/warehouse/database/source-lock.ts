import { SECOND } from '../../clock.ts';
import { SluiceError } from '../../errors.ts';
import type { Database } from './database.ts';
import { explainDatabaseError } from './database-errors.ts';

const HEARTBEAT_MS = 15 * SECOND;

/** The right to read one source, for as long as its database session lives. It saves requests; correctness rests on the cursors' versions. */
export interface SourceLock {
  /** Aborted, with a SluiceError of kind `database`, when the session ends without `release`: another process may have the lock. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/**
 * Takes the lock of `source` without waiting; null when another process holds it. It lives on a connection of its own, and
 * Postgres frees it when that ends, also by `kill -9`. A machine that vanishes is noticed on both sides in about half a minute.
 */
export async function acquireSourceLock(database: Database, source: string): Promise<SourceLock | null> {
  const client = await database.connect(`sluice reads ${source}`.slice(0, 63));
  const gone = new AbortController();
  let released = false;
  const lose = (cause?: unknown) => {
    if (released || gone.signal.aborted) return;
    clearInterval(heartbeat);
    const message = `The connection to the database at ${database.place} that held the lock of source "${source}" dropped.`;
    gone.abort(new SluiceError('database', message, { next: 'Repeat the command; it goes on where it was.', cause }));
    void client.end().catch(() => undefined);
  };
  client.on('error', lose);
  client.on('end', () => lose());
  // Without traffic, a firewall may forget the connection, and only a query that stays unanswered shows it.
  const heartbeat = setInterval(() => {
    const unanswered = setTimeout(lose, HEARTBEAT_MS);
    client
      .query('select 1')
      .catch(lose)
      .finally(() => clearTimeout(unanswered));
  }, HEARTBEAT_MS);
  heartbeat.unref();

  const release = async () => {
    released = true;
    clearInterval(heartbeat);
    // The session ends a moment after its client has gone; unlocked, the next one need not wait for that.
    await client.query(UNLOCK).catch(() => undefined);
    await client.end().catch(() => undefined);
  };
  try {
    await client.query(SETTINGS);
    const { rows } = await client.query<{ locked: boolean }>(LOCK, [source]);
    if (rows[0]?.locked) return { lost: gone.signal, release };
  } catch (error) {
    await release();
    throw explainDatabaseError(error, database.place);
  }
  await release();
  return null;
}

// The server's side of noticing: 15 s idle, as between two heartbeats, then 3 probes 5 s apart. `idle_session_timeout` may be set for everybody else.
const SETTINGS = `
  set tcp_keepalives_idle = 15; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3;
  set idle_session_timeout = 0; set statement_timeout = '10s'`;

// Two-key locks are ours alone: Kysely and `migrate` use one-key locks. 1936487779 is "sluc" as bytes.
const LOCK = "select pg_try_advisory_lock(1936487779, hashtext('source ' || $1)) as locked";
const UNLOCK = 'select pg_advisory_unlock_all()';
