import { type PostgresPoolClient, type QueryCreator, type QueryExecutorProvider, sql } from 'kysely';
import type pg from 'pg';
import { isKind, SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { SluiceTables } from './bookkeeping-tables.ts';
import { connect, connecting, createPool, explainPoolError } from './pool.ts';
import { createStatements, kyselyOn, lendClient } from './statements.ts';

/**
 * Where queries go: the pool, or an open transaction. The builder knows the bookkeeping; the warehouse's own tables are declared
 * by jobs at run time, so queries on those are written with `sql`.
 */
export type Db = QueryCreator<SluiceTables> & QueryExecutorProvider;

export type Row = Record<string, unknown>;

export interface Queryable {
  /** One statement. `date`, `timestamp`, `timestamptz`, `int8` and `numeric` arrive as text, exactly as Postgres wrote them. */
  readonly query: <R extends Row = Row>(sql: string, parameters?: readonly unknown[]) => Promise<pg.QueryResult<R>>;
}

/** A transaction, which its first statement begins. */
export type Transaction = Db &
  Queryable & {
    /**
     * Sends statements without beginning the transaction: those that only read, and a write that is the only one, which Postgres commits by
     * itself. Once the transaction has begun, they are part of it.
     */
    readonly alone: Db;
  };

export interface TransactionOptions {
  /** The zone of timestamps that come without one, for all statements. Default: UTC. */
  readonly timeZone?: string;
}

/** Statements with parameters stay prepared on their connections. */
export interface Database extends Queryable {
  readonly kysely: Db;
  /** For what borrows whole connections, as cursors do. */
  readonly pool: pg.Pool;
  /** How messages name this database: host, port and name, without user and password. */
  readonly place: string;
  /** Opens a connection outside of the pool, for session locks, notifications and migrations; the caller ends it. */
  connect(applicationName: string): Promise<pg.Client>;
  /** READ COMMITTED; commits when `fn` resolves, rolls back when it throws. */
  readonly transaction: <T>(fn: (tx: Transaction) => Promise<T>, options?: TransactionOptions) => Promise<T>;
  close(): Promise<void>;
}

const OLDEST_MAJOR = 14;

/**
 * A pool of at most `max` (10) connections and Kysely over it. Connects once, so that a wrong address, password, server version or
 * encoding is reported here, as kind `database` or `configuration`.
 */
export async function openDatabase(options: {
  url: string;
  applicationName: string;
  log: Log;
  max?: number | undefined;
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
  const statementOf = createStatements();
  const queryOn =
    (target: pg.Pool | pg.PoolClient): Queryable['query'] =>
    <R extends Row>(text: string, parameters?: readonly unknown[]) =>
      explained(target.query<R>(statementOf(text, parameters)));
  const lend = (client: pg.PoolClient, release?: () => void) => lendClient(client, { explained, statementOf, release });

  const database: Database = {
    kysely: kyselyOn(async () => lend(await explained(pool.connect()))),
    pool,
    place,
    query: queryOn(pool),
    transaction: (fn, settings) => runTransaction({ pool, explained, queryOn, lend }, fn, settings),
    connect: name => explained(connect(connecting(url, name))),
    close: () => pool.end(),
  };
  try {
    await checkServer(database);
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
  readonly lend: (client: pg.PoolClient, release: () => void) => PostgresPoolClient;
}

// Kysely's own transactions begin at once, and cannot send more than BEGIN in their first round trip. A Kysely costs 8 us.
async function runTransaction<T>(
  { pool, explained, queryOn, lend }: PoolAccess,
  fn: (tx: Transaction) => Promise<T>,
  { timeZone }: TransactionOptions = {},
): Promise<T> {
  const client = await explained(pool.connect());
  const lent = lend(client, () => undefined);
  // Every session of ours is in UTC.
  const zone =
    timeZone === undefined || timeZone === 'UTC' ? '' : `; set local time zone ${client.escapeLiteral(timeZone)}`;
  let begun = false;
  let broken: Error | undefined;
  const begin = async () => {
    if (begun) return;
    begun = true;
    await explained(client.query(`begin${zone}`));
  };
  const send = queryOn(client);
  const query: Queryable['query'] = async (text, parameters) => {
    await begin();
    return send(text, parameters);
  };
  const sentWithin = kyselyOn(async () => {
    await begin();
    return lent;
  });
  try {
    if (zone !== '') await begin();
    const result = await fn(Object.assign(sentWithin, { query, alone: kyselyOn(async () => lent) }));
    if (begun) await explained(client.query('commit'));
    return result;
  } catch (error) {
    if (begun)
      await client.query('rollback').catch((cause: Error) => {
        broken = cause;
      });
    // Nothing else notices that the connection has ended.
    else if (isKind(error, 'database')) broken = error;
    throw error;
  } finally {
    // With an error, the pool discards the connection.
    client.release(broken);
  }
}

async function checkServer(database: Database): Promise<void> {
  const { rows } = await database.query<{ version: string; encoding: string }>(
    "select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding",
  );
  const major = Math.floor(Number(rows[0]?.version) / 10_000);
  if (major < OLDEST_MAJOR) {
    throw new SluiceError('configuration', `The database at ${database.place} is Postgres ${major}.`, {
      next: `Sluice needs Postgres ${OLDEST_MAJOR} or newer.`,
    });
  }
  const encoding = rows[0]?.encoding;
  if (encoding === 'UTF8') return;
  const message = `The database at ${database.place} has the encoding ${encoding}, which cannot hold every text of a source.`;
  throw new SluiceError('configuration', message, {
    next: 'Create one in UTF-8 and name it in DATABASE_URL: createdb --template template0 --encoding UTF8 --locale C.UTF-8 <name>',
  });
}

/** Host, port and database of a connection URL; never its user or password. */
function placeOf(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `${hostname || 'localhost'}:${port || '5432'}${pathname}`;
}

/** Marks the point that `rollbackTo` returns to. A name used again hides its older point. */
export async function savepoint(tx: Db, name: string): Promise<void> {
  await sql`savepoint ${sql.id(name)}`.execute(tx);
}

/** Undoes what the transaction wrote since the savepoint; the transaction is usable again after a failed statement. */
export async function rollbackTo(tx: Db, name: string): Promise<void> {
  await sql`rollback to savepoint ${sql.id(name)}`.execute(tx);
}
