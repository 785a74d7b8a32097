import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { inject } from 'vitest';
import { declareTables } from '../../src/engine/records/declare-table.ts';
import { createLog } from '../../src/log.ts';
import { type Database, openDatabase } from '../../src/warehouse/database/database.ts';
import { JOBS } from './resources.ts';

/** The settings with which every test database was migrated. */
export const MIGRATIONS = {
  schema: 'warehouse',
  sluiceFolder: fileURLToPath(new URL('../../migrations/sluice', import.meta.url)),
  warehouseFolder: fileURLToPath(new URL('../../migrations/warehouse', import.meta.url)),
  lists: declareTables(Object.entries(JOBS)),
  timeZone: 'UTC',
};

export interface TestDatabase {
  readonly url: string;
  /** For a superuser. */
  readonly adminUrl: string;
  /** Another pool, as another process would have; the caller closes it. */
  open(applicationName?: string, max?: number): Promise<Database>;
  /** The leak check: fails if a connection was left open. */
  drop(): Promise<void>;
}

/** Creates a database for one test, cloned from the migrated template (`{ empty: true }`: without tables). */
export async function createTestDatabase(options: { empty?: boolean } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const socket = inDatabase(inject('postgresSocketUrl'), name);
  const client = admin();
  const template = options.empty ? 'template0' : inject('postgresTemplate');
  const { rows } = await client.query<{ copies: boolean }>(
    "select current_setting('server_version_num')::int < 150000 as copies",
  );
  // Copying the files takes 120 ms, through the WAL 340 ms. Before Postgres 15, files are always copied.
  await client.query(`create database ${name} template ${template}${rows[0]?.copies ? '' : ' strategy file_copy'}`);
  return {
    url: inDatabase(inject('postgresUrl'), name),
    adminUrl: inDatabase(inject('postgresAdminUrl'), name),
    // Each connection plans each statement once. One is enough, unless a test holds it: nothing of the product needs two at a time.
    open: (applicationName = 'test', max = 1) =>
      openDatabase({ url: socket, applicationName, log: createLog({ level: 'warn' }), max }),
    drop: async () => dropUnused(admin(), name),
  };
}

/** Brackets a test with its own database and one pool; drops the database afterwards without force. */
export async function withDatabase<T>(
  fn: (database: Database, test: TestDatabase) => Promise<T>,
  { connections }: { connections?: number } = {},
): Promise<T> {
  const test = await createTestDatabase();
  const database = await test.open('test', connections);
  let result: T;
  try {
    result = await fn(database, test);
  } catch (error) {
    // Report the failure of the test, not a leak that it caused.
    await database.close();
    await test.drop().catch(() => undefined);
    throw error;
  }
  await database.close();
  await test.drop();
  return result;
}

/** The URL of another database on the same server. */
export function inDatabase(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}

/** Postgres waits up to 5 s for ending sessions. After that, 55006 means that a session is really open. */
async function dropUnused(client: pg.Pool, name: string): Promise<void> {
  try {
    await client.query(`drop database ${name}`);
  } catch (error) {
    throw (error as { code?: string }).code === '55006' ? await leak(client, name, error) : error;
  }
}

async function leak(client: pg.Pool, name: string, cause: unknown): Promise<Error> {
  const { rows } = await client.query<{ session: string }>(
    `select application_name || ': ' || left(query, 200) as session from pg_stat_activity where datname = $1`,
    [name],
  );
  return new Error(`The test left connections open:\n${rows.map(row => row.session).join('\n')}`, { cause });
}

let opened: pg.Pool | undefined;

/** For all tests of this process, some of which run side by side. It ends with the process. */
function admin(): pg.Pool {
  opened ??= new pg.Pool({
    ...{ connectionString: inject('postgresSocketUrl'), application_name: 'test admin' },
    ...{ max: 3, idleTimeoutMillis: 0, allowExitOnIdle: true },
  }).on('error', () => undefined);
  return opened;
}
