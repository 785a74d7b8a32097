import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { MINUTE, SECOND } from '../../clock.ts';
import { isKind, SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { explainDatabaseError } from './database-errors.ts';

/** The schema is not known to the compiler: its tables come from migrations and jobs. */
// biome-ignore lint/suspicious/noExplicitAny: the tables are declared at run time
export type Tables = any;

/** A database or an open transaction of it. */
export type Db = Kysely<Tables>;

export type Row = Record<string, unknown>;

export interface Queryable {
  /** One statement. `date`, `timestamp`, `timestamptz`, `int8` and `numeric` arrive as text, exactly as Postgres wrote them. */
  readonly query: <R extends Row = Row>(
    sql: string,
    parameters?: readonly unknown[],
    /** Keeps it prepared under this name on each connection; saves the planning (0.3 ms for a count through an index). */
    name?: string,
  ) => Promise<pg.QueryResult<R>>;
}

export interface TransactionOptions {
  /** False forbids sequential scans: a plan made while a table is empty would go on scanning it as it grows. Default true. */
  readonly seqscan?: boolean;
  /** SQL without parameters that goes out in one round trip with BEGIN, e.g. the lock that all else rests on. */
  readonly opening?: string;
}

export interface Database extends Queryable {
  readonly kysely: Kysely<Tables>;
  readonly pool: pg.Pool;
  /** How messages name this database: host, port and name, without user and password. */
  readonly place: string;
  /** Connects once more, outside of the pool, for session locks and migrations; the caller ends it. */
  connect(applicationName: string): Promise<pg.Client>;
  /** READ COMMITTED; commits when `fn` resolves, rolls back when it throws. */
  transaction<T>(fn: (transaction: Queryable) => Promise<T>, options?: TransactionOptions): Promise<T>;
  close(): Promise<void>;
}

const OLDEST_MAJOR = 14;

/** How long a server may take to let a connection in, and how long work may wait for one of ours that is busy. */
const CONNECT_TIMEOUT_MS = 15 * SECOND;
const QUEUE_TIMEOUT_MS = MINUTE;

/** Types that JavaScript would round or shift: 8-byte integers, dates and stamps (a `Date` lost a day west of Greenwich), numeric. */
const AS_TEXT: ReadonlySet<number> = new Set([
  pg.types.builtins.INT8,
  pg.types.builtins.DATE,
  pg.types.builtins.TIMESTAMP,
  pg.types.builtins.TIMESTAMPTZ,
  pg.types.builtins.NUMERIC,
]);

const TYPES: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    AS_TEXT.has(oid)
      ? (value: string) => value
      : pg.types.getTypeParser(oid, format as 'text')) as pg.CustomTypesConfig['getTypeParser'],
};

/**
 * A pool of at most `max` (10) connections and Kysely over it. Connects once, so that a wrong address, password or server
 * version is told here: kinds `database` and `configuration`.
 */
export async function openDatabase(options: {
  url: string;
  applicationName: string;
  log: Log;
  max?: number;
}): Promise<Database> {
  const { url, applicationName, log } = options;
  const place = placeOf(url);
  const connection = (name: string): pg.ClientConfig => ({
    connectionString: url,
    application_name: name,
    types: TYPES,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30 * SECOND,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: 5 * MINUTE,
    idle_in_transaction_session_timeout: 2 * MINUTE,
  });
  const pool = new pg.Pool({
    ...connection(applicationName),
    // The pool has one setting for both times, and hands it on to its connections.
    connectionTimeoutMillis: QUEUE_TIMEOUT_MS,
    Client: class extends pg.Client {
      constructor(config?: string | pg.ClientConfig) {
        super({ ...(config as pg.ClientConfig), connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
      }
    },
    max: options.max ?? 10,
    idleTimeoutMillis: 30 * SECOND,
    // The pool awaits what its types call void.
    onConnect: client => client.query("set time zone 'UTC'") as unknown as undefined,
  });
  // An idle connection that drops is replaced at the next use; without a listener it would end the process.
  pool.on('error', error =>
    log.debug({ database: place, reason: error.message }, 'an idle database connection dropped'),
  );
  pool.on('connect', client => client.on('error', () => undefined));

  const explained = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw isQueueTimeout(error) ? allBusy(error, place) : explainDatabaseError(error, place);
    }
  };

  const kysely = new Kysely<Tables>({
    dialect: new PostgresDialect({
      pool: {
        connect: async () => explainedClient(await explained(pool.connect()), explained),
        end: async () => undefined,
      },
    }),
  });

  const queryOn =
    (target: pg.Pool | pg.PoolClient): Queryable['query'] =>
    <R extends Row>(text: string, parameters?: readonly unknown[], name?: string) => {
      const values = parameters as unknown[];
      return explained(name ? target.query<R>({ name, text, values }) : target.query<R>(text, values));
    };

  async function transaction<T>(
    fn: (transaction: Queryable) => Promise<T>,
    settings: TransactionOptions = {},
  ): Promise<T> {
    const client = await explained(pool.connect());
    let broken: Error | undefined;
    try {
      const seqscan = settings.seqscan === false ? '; set local enable_seqscan = off' : '';
      const opening = settings.opening ? `; ${settings.opening}` : '';
      await explained(client.query(`begin${seqscan}${opening}`));
      const result = await fn({ query: queryOn(client) });
      await explained(client.query('commit'));
      return result;
    } catch (error) {
      await client.query('rollback').catch((cause: Error) => {
        broken = cause;
      });
      throw error;
    } finally {
      // With an error, the pool throws the connection away.
      client.release(broken);
    }
  }

  const database: Database = {
    kysely,
    pool,
    place,
    query: queryOn(pool),
    transaction,
    async connect(name) {
      const client = new pg.Client(connection(name));
      client.on('error', () => undefined);
      await explained(client.connect());
      try {
        await explained(client.query("set time zone 'UTC'"));
      } catch (error) {
        await client.end().catch(() => undefined);
        throw error;
      }
      return client;
    },
    async close() {
      await kysely.destroy();
      await pool.end();
    },
  };
  try {
    await checkVersion(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

/** The pool gives this error no code and no class of its own. */
const isQueueTimeout = (error: unknown): error is Error =>
  error instanceof Error && error.message === 'timeout exceeded when trying to connect';

function allBusy(cause: Error, place: string): SluiceError {
  return new SluiceError(
    'database',
    `The database at ${place}: all connections of this process were busy for ${QUEUE_TIMEOUT_MS / SECOND} seconds.`,
    { next: 'Look for locks or load on the server, then repeat the command; it goes on where it was.', cause },
  );
}

async function checkVersion(database: Database): Promise<void> {
  const { rows } = await database.query<{ version: string }>("select current_setting('server_version_num') as version");
  const major = Math.floor(Number(rows[0]?.version) / 10_000);
  if (major < OLDEST_MAJOR) {
    throw new SluiceError('configuration', `The database at ${database.place} is Postgres ${major}.`, {
      next: `Sluice needs Postgres ${OLDEST_MAJOR} or newer.`,
    });
  }
}

/**
 * Kysely's view of a pooled connection, with errors explained; a cursor is passed through as it is. Kysely gives a connection
 * back as if nothing had happened, so one that failed is marked for the pool to throw away.
 */
function explainedClient(client: pg.PoolClient, explained: <T>(work: Promise<T>) => Promise<T>): PostgresPoolClient {
  let broken = false;
  const queryText = async (text: string, parameters?: unknown[]) => {
    try {
      return await explained(client.query(text, parameters));
    } catch (error) {
      broken ||= isKind(error, 'database');
      throw error;
    }
  };
  const query = (first: unknown, parameters?: unknown[]) =>
    typeof first === 'string' ? queryText(first, parameters) : client.query(first as pg.Submittable);
  return { query: query as unknown as PostgresPoolClient['query'], release: () => client.release(broken) };
}

/** Host, port and database of a connection URL; never its user or password. */
function placeOf(url: string): string {
  try {
    const { hostname, port, pathname, protocol } = new URL(url);
    if (protocol !== 'postgres:' && protocol !== 'postgresql:') throw new Error('not a Postgres URL');
    return `${hostname || 'localhost'}:${port || '5432'}${pathname}`;
  } catch {
    // No cause: the URL parser's error quotes the URL, password included.
    throw new SluiceError('configuration', 'DATABASE_URL is not a Postgres connection URL.', {
      next: 'Expected: postgres://user:password@host:5432/database',
    });
  }
}
