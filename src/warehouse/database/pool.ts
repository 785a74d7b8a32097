import pg from 'pg';
import { MINUTE, SECOND } from '../../clock.ts';
import { explain, SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { isLoopback } from '../../loopback.ts';
import { explainDatabaseError } from './database-errors.ts';

/** How long a server may take to accept a connection, and how long work may wait for a pooled one that is busy. */
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

/** How to open connections: what the driver needs, and the SQL that a new one runs before its use. */
export interface Connecting {
  readonly config: pg.ClientConfig;
  readonly opening: string;
}

/** In milliseconds, as Postgres takes them; a parameter of the same name in DATABASE_URL wins. */
const TIMEOUTS = { statement_timeout: 5 * MINUTE, idle_in_transaction_session_timeout: 2 * MINUTE };

/** How values are written, whatever the server, the database, the login or the address set. How dates are read stays: that is for people. */
const FORMATS =
  "set datestyle = 'ISO'; set intervalstyle = 'postgres'; set extra_float_digits = 1; set bytea_output = 'hex'";

/** Kind `configuration` for an address that the driver does not take. */
export function connecting(url: string, applicationName: string): Connecting {
  const given = new URL(url).searchParams;
  refuseUnusable(url, given);
  const own = Object.entries(TIMEOUTS).filter(([name]) => !given.has(name));
  return {
    config: {
      connectionString: url,
      application_name: applicationName,
      types: TYPES,
      keepAlive: true,
      keepAliveInitialDelayMillis: 30 * SECOND,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    },
    // Not as parameters of the connection, which PgBouncer refuses: "unsupported startup parameter: statement_timeout". Compiling a
    // statement costs 50 to 300 ms and saves nothing on ours, which touch few rows.
    opening: [
      "set time zone 'UTC'",
      FORMATS,
      'set jit = off',
      ...own.map(([name, value]) => `set ${name} = ${value}`),
    ].join('; '),
  };
}

/** Asks the driver, which reads the files that an address names. */
function refuseUnusable(url: string, given: URLSearchParams): void {
  try {
    new pg.Client({ connectionString: url });
  } catch (cause) {
    const { path, code } = cause as NodeJS.ErrnoException;
    const names = ['sslrootcert', 'sslcert', 'sslkey'].filter(each => path !== undefined && given.get(each) === path);
    const found = names.length > 0 ? `${names[0]} is ${path}, which cannot be read (${code})` : explain(cause);
    throw new SluiceError('configuration', `The address of the database cannot be used: ${found}.`, {
      next: 'Correct the parameter in DATABASE_URL or READER_DATABASE_URL.',
      cause,
    });
  }
}

/**
 * For our own statements, whose parameters change no plan. A plan made while a table is empty would go on scanning it as it grows. And each
 * connection plans a statement once, not for each of its first six calls: planning took a third of Postgres' time for a paced service.
 */
const OUR_PLANS = 'set enable_seqscan = off; set plan_cache_mode = force_generic_plan';

/** In a transaction, for statements of other people and the functions that they call: plans as in psql. */
export const USUAL_PLANS = 'set local enable_seqscan = on; set local plan_cache_mode = auto';

export function createPool({ config, opening }: Connecting, max: number, place: string, log: Log): pg.Pool {
  const pool = new pg.Pool({
    ...config,
    max,
    // The pool has one setting for both times, and passes it on to its connections.
    connectionTimeoutMillis: QUEUE_TIMEOUT_MS,
    Client: class extends pg.Client {
      constructor(given?: string | pg.ClientConfig) {
        super({ ...(given as pg.ClientConfig), connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
      }
    },
    idleTimeoutMillis: 30 * SECOND,
    // The pool awaits what its types call void.
    onConnect: client => client.query(`${opening}; ${OUR_PLANS}`) as unknown as undefined,
  });
  // An idle connection that drops is replaced at its next use; without a listener it would end the process.
  pool.on('error', error =>
    log.debug({ database: place, reason: error.message }, 'an idle database connection dropped'),
  );
  pool.on('connect', client => client.on('error', () => undefined));
  return pool;
}

/** A connection outside of any pool. */
export async function connect({ config, opening }: Connecting): Promise<pg.Client> {
  const client = new pg.Client(config);
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(opening);
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  return client;
}

/** The same as `explainDatabaseError`; also explains that every connection of the pool was busy. */
export function explainPoolError(error: unknown, place: string): unknown {
  // The pool gives this error no code and no class of its own.
  const isQueueTimeout = error instanceof Error && error.message === 'timeout exceeded when trying to connect';
  if (!isQueueTimeout) return explainDatabaseError(error, place);
  return new SluiceError(
    'database',
    `The database at ${place}: all connections of this process were busy for ${QUEUE_TIMEOUT_MS / SECOND} seconds.`,
    {
      next: 'Look for locks or load on the server, then repeat the command; it resumes where it stopped.',
      cause: error,
    },
  );
}

/** Modes in which a client may go on without TLS. The driver's present version insists on it in some; its next will not. */
const OPTIONAL_TLS: readonly (string | null)[] = ['disable', 'allow', 'prefer'];

/**
 * The other machine that a Postgres URL leads to without requiring TLS; null with TLS, for a Unix socket and for this machine. A name
 * that only a container network knows counts as another machine, because the network may span several.
 */
export function plainHostOf(url: string): string | null {
  // Asks the driver, which also knows parameters of the URL, such as `host` and `sslrootcert`, and variables such as PGSSLMODE.
  const { host, ssl } = new pg.Client({ connectionString: url });
  if (host.startsWith('/') || isLoopback(host)) return null;
  return ssl && !OPTIONAL_TLS.includes(new URL(url).searchParams.get('sslmode')) ? null : host;
}
