import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { inject } from 'vitest';
import { declareTables } from '../../src/engine/records/declare-table.ts';
import { createLog } from '../../src/log.ts';
import { type Database, openDatabase } from '../../src/warehouse/database/database.ts';
import { withClient } from './ask.ts';
import { emptyAgain, type Original, originalOf } from './recycle.ts';
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
  /** Gives the database back. The leak check: fails if a connection was left open. */
  drop(): Promise<void>;
}

/** Databases of this process that no test uses, empty again. */
const free: string[] = [];
let original: Original | undefined;

/** A database for one test, as the migrated template is (`{ empty: true }`: without tables). */
export async function createTestDatabase(options: { empty?: boolean } = {}): Promise<TestDatabase> {
  const name = options.empty ? await createDatabase('template0') : (free.pop() ?? (await cloneTemplate()));
  const socket = inDatabase(inject('postgresSocketUrl'), name);
  return {
    url: inDatabase(inject('postgresUrl'), name),
    adminUrl: inDatabase(inject('postgresAdminUrl'), name),
    open: (applicationName = 'test', max = 4) =>
      openDatabase({ url: socket, applicationName, log: createLog({ level: 'warn' }), max }),
    async drop() {
      const client = await admin();
      await noneConnected(client, name);
      if (original && !options.empty && (await withClient(socket, again => emptyAgain(again, original as Original))))
        free.push(name);
      else await client.query(`drop database ${name}`);
    },
  };
}

async function createDatabase(template: string): Promise<string> {
  const name = `${testDatabases(inject('postgresTemplate'))}_${randomBytes(6).toString('hex')}`;
  const client = await admin();
  const { rows } = await client.query<{ copies: boolean }>(
    "select current_setting('server_version_num')::int < 150000 as copies",
  );
  // Copying the files takes 120 ms, through the WAL 340 ms. Before Postgres 15, files are always copied.
  await client.query(`create database ${name} template ${template}${rows[0]?.copies ? '' : ' strategy file_copy'}`);
  return name;
}

async function cloneTemplate(): Promise<string> {
  const name = await createDatabase(inject('postgresTemplate'));
  original ??= await withClient(inDatabase(inject('postgresSocketUrl'), name), originalOf);
  return name;
}

/** Brackets a test with its own database and one pool. */
export async function withDatabase<T>(fn: (database: Database, test: TestDatabase) => Promise<T>): Promise<T> {
  const test = await createTestDatabase();
  const database = await test.open();
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

/** What the names of a run's databases begin with: other runs may use the same server. */
export const testDatabases = (template: string): string => template.replace('template', 'test');

/** The URL of another database on the same server. */
export function inDatabase(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}

/** Sessions that are ending take a moment. */
async function noneConnected(client: pg.Client, name: string): Promise<void> {
  const deadline = performance.now() + 5000;
  for (;;) {
    const { rows } = await client.query<{ session: string }>(
      `select application_name || ': ' || left(query, 200) as session from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
      [name],
    );
    if (rows.length === 0) return;
    if (performance.now() > deadline)
      throw new Error(`The test left connections open:\n${rows.map(row => row.session).join('\n')}`);
    await delay(2);
  }
}

let opened: Promise<pg.Client> | undefined;

/** One connection for all tests of this process. It ends with the process. */
function admin(): Promise<pg.Client> {
  opened ??= (async () => {
    const client = new pg.Client({ connectionString: inject('postgresSocketUrl'), application_name: 'test admin' });
    client.on('error', () => {
      opened = undefined;
    });
    await client.connect();
    return client;
  })();
  return opened;
}
