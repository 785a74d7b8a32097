import type { QueryCreator, QueryExecutorProvider } from 'kysely';
import type pg from 'pg';
import { SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { SluiceTables } from './bookkeeping-tables.ts';
import { kyselyOn, lendClient } from './kysely-on.ts';
import { connect, connecting, createPool, explainPoolError } from './pool.ts';

/**
 * Where queries go: the pool, or an open transaction. The builder knows the bookkeeping; the warehouse's own tables are declared
 * by jobs at run time, so queries on those are written with `sql`.
 */
export type Db = QueryCreator<SluiceTables> & QueryExecutorProvider;

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

/** An open transaction: a `Db`, and `query` for statements that stay prepared. */
export type Transaction = Db & Queryable;

export interface TransactionOptions {
  /** False forbids sequential scans: a plan made while a table is empty would go on scanning it as it grows. Default true. */
  readonly seqscan?: boolean;
  /** SQL without parameters, sent in the same round trip as BEGIN, e.g. the lock that the transaction relies on. */
  readonly opening?: string;
}

/** Queries go through `kysely`, or through `query` where the text stays prepared; transactions through `transaction`. */
export interface Database extends Queryable {
  readonly kysely: Db;
  /** For what borrows whole connections: cursors and the queue. */
  readonly pool: pg.Pool;
  /** How messages name this database: host, port and name, without user and password. */
  readonly place: string;
  /** Opens a connection outside of the pool, for session locks and migrations; the caller ends it. */
  connect(applicationName: string): Promise<pg.Client>;
  /** READ COMMITTED; commits when `fn` resolves, rolls back when it throws. */
  readonly transaction: <T>(fn: (tx: Transaction) => Promise<T>, options?: TransactionOptions) => Promise<T>;
  close(): Promise<void>;
}

const OLDEST_MAJOR = 14;

/**
 * A pool of at most `max` (10) connections and Kysely over it. Connects once, so that a wrong address, password or server version
 * is reported here, as kind `database` or `configuration`.
 */
export async function openDatabase(options: {
  url: string;
  applicationName: string;
  log: Log;
  max?: number;
}): Promise<Database> {
  const { url, applicationName, log, max = 10 } = options;
  const place = placeOf(url);
  const pool = createPool(connecting(url, applicationName), max, place, log);

  const explained = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw explainPoolError(error, place);
    }
  };
  const queryOn =
    (target: pg.Pool | pg.PoolClient): Queryable['query'] =>
    <R extends Row>(text: string, parameters?: readonly unknown[], name?: string) => {
      const values = parameters as unknown[];
      return explained(name ? target.query<R>({ name, text, values }) : target.query<R>(text, values));
    };

  const database: Database = {
    kysely: kyselyOn(async () => lendClient(await explained(pool.connect()), explained)),
    pool,
    place,
    query: queryOn(pool),
    transaction: (fn, settings) => runTransaction({ pool, explained, queryOn }, fn, settings),
    connect: name => explained(connect(connecting(url, name))),
    close: () => pool.end(),
  };
  try {
    await checkVersion(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

interface PoolAccess {
  readonly pool: pg.Pool;
  readonly explained: <T>(work: Promise<T>) => Promise<T>;
  readonly queryOn: (client: pg.PoolClient) => Queryable['query'];
}

// Kysely's own transactions cannot send more than BEGIN in their first round trip. A Kysely per transaction costs 8 us.
async function runTransaction<T>(
  { pool, explained, queryOn }: PoolAccess,
  fn: (tx: Transaction) => Promise<T>,
  { seqscan = true, opening }: TransactionOptions = {},
): Promise<T> {
  const client = await explained(pool.connect());
  let broken: Error | undefined;
  try {
    const setting = seqscan ? '' : '; set local enable_seqscan = off';
    await explained(client.query(`begin${setting}${opening ? `; ${opening}` : ''}`));
    const lent = lendClient(client, explained, () => undefined);
    const kysely = kyselyOn(async () => lent);
    const result = await fn(Object.assign(kysely, { query: queryOn(client) }));
    await explained(client.query('commit'));
    return result;
  } catch (error) {
    await client.query('rollback').catch((cause: Error) => {
      broken = cause;
    });
    throw error;
  } finally {
    // With an error, the pool discards the connection.
    client.release(broken);
  }
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
