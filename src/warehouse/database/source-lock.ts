import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import { SECOND } from '../../clock.ts';
import { SluiceError } from '../../errors.ts';
import type { Database, Queryable } from './database.ts';
import { explainDatabaseError } from './database-errors.ts';
import { LOCK_KEY, lockName } from './lock-key.ts';

const HEARTBEAT_MS = 15 * SECOND;
/** How long a command waits for a service that gives up the lock as soon as it only keeps its pace. */
export const LOCK_WAIT_MS = 15 * SECOND;

/** The right to read one source, held as long as its database session. It saves requests; correctness rests on the cursors' versions. */
export interface SourceLock {
  /** Aborted with kind `database` when the session ends without `release`: another process may hold the lock. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** The name of the session that holds the lock; Postgres cuts it at 63 bytes, so it fits a source of 40 and a command of 8. */
const sessionName = (source: string, command: string | null): string =>
  `sluice reads ${source}${command === null ? '' : `, ${command}`}`.slice(0, 63);

/**
 * Takes the lock of `source`; null when another process holds it, and still holds it after `waitMs`. It lives on its own connection, and Postgres releases
 * it when that ends, also after `kill -9`. Both sides notice a vanished machine within about half a minute. `command` is what
 * `findReader` answers; null for a service.
 */
export async function acquireSourceLock(
  database: Database,
  source: string,
  command: string | null = null,
  { waitMs = 0 }: { waitMs?: number } = {},
): Promise<SourceLock | null> {
  const client = await database.connect(sessionName(source, command));
  const gone = new AbortController();
  let released = false;
  let heartbeat: NodeJS.Timeout | undefined;
  const lose = (cause?: unknown) => {
    if (released || gone.signal.aborted) return;
    clearInterval(heartbeat);
    const message = `The connection to the database at ${database.place} that held the lock of source "${source}" dropped.`;
    gone.abort(
      new SluiceError('database', message, { next: 'Repeat the command; it resumes where it stopped.', cause }),
    );
    void client.end().catch(() => undefined);
  };
  client.on('error', lose);
  client.on('end', () => lose());
  // Without traffic a firewall may drop the connection, and only an unanswered query shows it.
  const beat = () => {
    const unanswered = setTimeout(lose, HEARTBEAT_MS);
    client
      .query('select 1')
      .catch(lose)
      .finally(() => clearTimeout(unanswered));
  };

  const release = async () => {
    released = true;
    clearInterval(heartbeat);
    // The session ends a moment after its client: unlock, so that the next holder need not wait for it.
    await client.query(UNLOCK).catch(() => undefined);
    await client.end().catch(() => undefined);
  };
  try {
    await client.query(SETTINGS);
    const key = lockName('source', source);
    if (waitMs > 0) await waitForLock(client, key, waitMs);
    const { rows } = await client.query<{ locked: boolean }>(LOCK, [key]);
    if (rows[0]?.locked) {
      heartbeat = setInterval(beat, HEARTBEAT_MS).unref();
      return { lost: gone.signal, release };
    }
  } catch (error) {
    await release();
    throw explainDatabaseError(error, database.place);
  }
  await release();
  return null;
}

/** SQL: whether a command waits for the lock of a source. */
export const isLockWanted = (source: string): RawBuilder<boolean> => sql`
  exists (select from pg_locks where locktype = 'advisory' and not granted and objsubid = 1
    and database = (select oid from pg_database where datname = current_database())
    and (classid::bigint << 32 | objid::bigint) = hashtextextended(${lockName('source', source)}, 0))`;

/** Waits until nobody holds the lock, or as long as allowed. It is taken once more afterwards: such locks are counted. */
async function waitForLock(client: pg.Client, key: string, waitMs: number): Promise<void> {
  try {
    await client.query(`set lock_timeout = ${Math.ceil(waitMs)}; set statement_timeout = 0`);
    await client.query(`select pg_advisory_lock(${LOCK_KEY})`, [key]);
  } catch (error) {
    if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error;
  } finally {
    await client.query(SETTINGS);
  }
}

const LOCK_NOT_AVAILABLE = '55P03';

/** The process that holds the lock of a source: its command, or null for a service. */
export interface SourceReader {
  readonly command: string | null;
}

/** Who reads `source` now; null if nobody does. */
export const findReader = async (database: Queryable, source: string): Promise<SourceReader | null> =>
  (await findReaders(database, [source])).get(source) ?? null;

/** Those of `sources` that somebody reads now, each with its reader. Exact at any moment, because the lock ends with its session. */
export async function findReaders(
  database: Queryable,
  sources: readonly string[],
): Promise<ReadonlyMap<string, SourceReader>> {
  const keys = sources.map(source => lockName('source', source));
  const { rows } = await database.query<{ source: string; name: string | null }>(HOLDERS, [keys, sources]);
  return new Map(
    rows.map(({ source, name }) => {
      const prefix = sessionName(source, '');
      return [source, { command: name?.startsWith(prefix) ? name.slice(prefix.length) : null }];
    }),
  );
}

// How the server notices a vanished client: 15 s idle, as between two heartbeats, then 3 probes 5 s apart.
const SETTINGS = `
  set tcp_keepalives_idle = 15; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3;
  set idle_session_timeout = 0; set statement_timeout = '10s'`;

const LOCK = `select pg_try_advisory_lock(${LOCK_KEY}) as locked`;
// `pg_locks` shows a key of 64 bits as `classid` and `objid`, which is unsigned, with `objsubid` 1.
const HOLDERS = `
  with locks as materialized (
    select l.classid::bigint << 32 | l.objid::bigint as key, a.application_name as name
    from pg_locks l left join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.granted and l.objsubid = 1
      and l.database = (select oid from pg_database where datname = current_database()))
  select of_source.source, locks.name from unnest($1::text[], $2::text[]) as of_source(name, source)
    join locks on locks.key = hashtextextended(of_source.name, 0)`;
const UNLOCK = 'select pg_advisory_unlock_all()';
