import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { MINUTE, SECOND } from '../clock.ts';
import { isKind, SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';

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

export interface Transaction extends Queryable {
  /** The connection itself, for COPY and cursors; errors of its own are not translated. */
  readonly client: pg.PoolClient;
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
  /** Connects once more, outside of the pool, for session locks and LISTEN; the caller ends it. */
  connect(applicationName: string): Promise<pg.Client>;
  /** READ COMMITTED; commits when `fn` resolves, rolls back when it throws. */
  transaction<T>(fn: (transaction: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  close(): Promise<void>;
}

const OLDEST_MAJOR = 14;

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
    connectionTimeoutMillis: 15 * SECOND,
    statement_timeout: 5 * MINUTE,
    idle_in_transaction_session_timeout: 2 * MINUTE,
  });
  const pool = new pg.Pool({
    ...connection(applicationName),
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
      throw explainDatabaseError(error, place);
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
    fn: (transaction: Transaction) => Promise<T>,
    settings: TransactionOptions = {},
  ): Promise<T> {
    const client = await explained(pool.connect());
    let broken: Error | undefined;
    try {
      const seqscan = settings.seqscan === false ? '; set local enable_seqscan = off' : '';
      const opening = settings.opening ? `; ${settings.opening}` : '';
      await explained(client.query(`begin${seqscan}${opening}`));
      const result = await fn({ client, query: queryOn(client) });
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
      await explained(client.query("set time zone 'UTC'"));
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

/** By SQLSTATE or errno: what happened, and the next step. */
const REASONS: Readonly<Record<string, readonly [what: string, next: string]>> = {
  ECONNREFUSED: ['nothing answers there', 'Check host and port in DATABASE_URL, and that the server runs.'],
  ENOTFOUND: ['there is no such host', 'Check the host in DATABASE_URL.'],
  EAI_AGAIN: ['its name could not be looked up', 'Check the network, then repeat the command.'],
  ETIMEDOUT: ['it does not answer', 'Check the network and firewalls between here and there, then repeat the command.'],
  EHOSTUNREACH: ['there is no way to it', 'Check the network, then repeat the command.'],
  ENETUNREACH: ['there is no way to it', 'Check the network, then repeat the command.'],
  ECONNRESET: ['the connection dropped', 'Repeat the command; it goes on where it was.'],
  EPIPE: ['the connection dropped', 'Repeat the command; it goes on where it was.'],
  '28P01': ['user or password is wrong', 'Correct them in DATABASE_URL.'],
  '28000': ['the server does not let this user in', 'Check the user in DATABASE_URL, and pg_hba.conf on the server.'],
  '3D000': ['there is no such database', 'Create it, or correct the name in DATABASE_URL.'],
  '42501': [
    'this user may not do that',
    'Let it create schemas: GRANT CREATE ON DATABASE .. TO .., and own the schemas that are there.',
  ],
  '53100': ['its disk is full', 'Free some space on the server, then repeat the command; it goes on where it was.'],
  '53200': ['it is out of memory', 'Give it more memory, or stop other work on it, then repeat the command.'],
  '53300': ['it takes no more connections', 'Raise max_connections, or close other programs that use it.'],
  '57P01': [
    'the connection was ended by an administrator',
    'Repeat the command when the server is back; it goes on where it was.',
  ],
  '57P02': ['the server crashed and is recovering', 'Repeat the command in a moment; it goes on where it was.'],
  '57P03': ['the server is starting up or shutting down', 'Repeat the command in a moment; it goes on where it was.'],
  '57P05': ['the connection was idle for too long', 'Repeat the command; it goes on where it was.'],
  '57014': [
    'a statement took too long and was cancelled',
    'Look for locks or load on the server, then repeat the command.',
  ],
  '25P03': ['a transaction was idle for too long', 'Repeat the command; it goes on where it was.'],
  '25006': ['it is read-only', 'Point DATABASE_URL at the primary server.'],
};
const DROPPED = REASONS.ECONNRESET as readonly [string, string];

/**
 * The kind `database` for what an operator can mend: the server out of reach, full, closed to us. Other errors, such as a
 * violated constraint, are ours and come back as they are.
 */
export function explainDatabaseError(error: unknown, place: string): unknown {
  if (!(error instanceof Error) || error instanceof SluiceError) return error;
  const reason = reasonOf(error);
  if (!reason) return error;
  return new SluiceError('database', `The database at ${place}: ${reason[0]}.`, { next: reason[1], cause: error });
}

function reasonOf(error: Error & { code?: string; errors?: unknown[] }): readonly [string, string] | undefined {
  const { code } = error;
  if (code !== undefined && REASONS[code]) return REASONS[code];
  // A host with several addresses: one error for each.
  if (error instanceof AggregateError) return error.errors[0] instanceof Error ? reasonOf(error.errors[0]) : DROPPED;
  // Class 08 is a connection failure, 53 is lack of a resource, 58 the server's own system.
  if (error instanceof pg.DatabaseError) {
    if (code?.startsWith('08')) return DROPPED;
    if (code?.startsWith('53')) return ['it lacks a resource', 'See the server log, then repeat the command.'];
    if (code?.startsWith('58') || code?.startsWith('XX')) {
      return [
        `it reports an internal error (${code})`,
        'See the server log; the disk or the data files may be damaged.',
      ];
    }
    return undefined;
  }
  // TLS refusals carry Node's codes; the driver's own errors (ended, timed out, not queryable) carry none, and all mean that the
  // connection is gone. TypeErrors and the like are ours.
  if (code !== undefined)
    return [`the connection failed (${code})`, 'Check DATABASE_URL and the network between here and there.'];
  return error.constructor === Error ? DROPPED : undefined;
}
