import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type DatabaseIntrospector,
  Kysely,
  type Migration,
  type MigrationResultSet,
  Migrator,
  PostgresDialect,
  sql,
} from 'kysely';
import type pg from 'pg';
import { type Clock, MINUTE, SECOND, stopped, systemClock } from '../../clock.ts';
import { codeOf, SluiceError } from '../../errors.ts';
import { MIGRATE } from '../../next-steps.ts';
import { noteBlockers } from './blockers.ts';
import type { Database } from './database.ts';
import { explainDatabaseError } from './database-errors.ts';
import { LOCK_KEY, lockName } from './lock-key.ts';

export interface MigrationOptions {
  readonly database: Database;
  /** The warehouse schema, e.g. `warehouse`; created when absent. */
  readonly schema: string;
  /** `migrations/sluice`, run once per database, and `migrations/warehouse`, once per schema; `.ts` or compiled `.js`. */
  readonly sluiceFolder: string;
  readonly warehouseFolder: string;
  /** Called once for each reason to wait: another process that migrates, or a session that keeps a lock on a table. Default: nothing. */
  readonly onWait?: (reason: string) => void;
  /** Ends the wait with kind `stopped`; a migration that has begun is completed. Default: never. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

/** One folder of migrations and the table of those that ran: `sluice.migrations` or `sluice.migrations_<schema>`. */
interface Series {
  readonly folder: string;
  readonly schema: string;
  readonly table: string;
}

const BOOKKEEPING = 'sluice';
const TRY_EVERY_MS = SECOND / 4;
/** Whoever needs the table queues behind a migration for so long. Below `deadlock_timeout` (1 s): the migration gives way, not a reader. */
const LOCK_TIMEOUT_MS = SECOND / 2;
const LOCK_AGAIN_MS = 10 * SECOND;
/** Longer than the login that may only read may idle in a transaction. */
const MOST_LOCKED_MS = 5 * MINUTE;

/**
 * Brings both schemas up to date and returns the names of the migrations that ran. Safe to call from many processes at once: all but
 * the first wait, and report it by `onWait`. Throws `configuration` when the database was migrated by a newer Sluice, and `database` or
 * `failed` when a migration fails or a table stays locked for minutes; a series that fails is rolled back completely.
 */
export async function migrate(options: MigrationOptions): Promise<string[]> {
  const { database } = options;
  const client = await database.connect('sluice migrate');
  try {
    // Building an index over a large table may take longer than our other statements ever may.
    await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0');
    await lock(client, options);
    await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`);
    const run: string[] = [];
    for (const series of seriesOf(options)) {
      const available = await load(series);
      refuseNewer(series, await executed(database, series), Object.keys(available));
      await client.query(`create schema if not exists ${client.escapeIdentifier(BOOKKEEPING)}`);
      await client.query(`create schema if not exists ${client.escapeIdentifier(series.schema)}`);
      await client.query(`set search_path = ${client.escapeIdentifier(series.schema)}`);
      const kysely = new Kysely<unknown>({
        dialect: new BookkeepingDialect({
          pool: {
            connect: async () => ({ query: client.query.bind(client) as never, release: () => undefined }),
            end: async () => undefined,
          },
        }),
      });
      const migrator = new Migrator({
        db: kysely,
        provider: { getMigrations: async () => within(available, series.schema) },
        migrationTableSchema: BOOKKEEPING,
        migrationTableName: series.table,
        migrationLockTableName: `${series.table}_lock`,
      });
      const { error, results } = await untilUnlocked(client, series, options, () => migrator.migrateToLatest());
      if (error) {
        const failed = results?.find(result => result.status === 'Error')?.migrationName;
        throw explainFailure(error, database.place, series, failed);
      }
      run.push(...(results ?? []).map(result => `${series.schema}/${result.migrationName}`));
    }
    return run;
  } catch (error) {
    throw explainDatabaseError(error, database.place);
  } finally {
    await client.end();
  }
}

/** Polls for the lock: a session that waits for one obeys no signal, and shows nobody what it waits for. */
async function lock(
  client: pg.Client,
  { database, clock = systemClock, signal, onWait }: MigrationOptions,
): Promise<void> {
  for (let tries = 0; ; tries++) {
    if (signal?.aborted) throw stopped(signal);
    const { rows } = await client.query<{ locked: boolean }>(`select pg_try_advisory_lock(${LOCK_KEY}) as locked`, [
      lockName('migrate'),
    ]);
    if (rows[0]?.locked) return;
    if (tries === 0)
      onWait?.(`Another process is migrating the database at ${database.place}; waiting until it has finished.`);
    await clock.sleep(TRY_EVERY_MS, signal);
  }
}

/** Runs a series again as long as a lock makes it fail. In between it holds no lock and waits for none, so that others read on. */
async function untilUnlocked(
  client: pg.Client,
  { schema }: Series,
  { database, clock = systemClock, signal, onWait }: MigrationOptions,
  run: () => Promise<MigrationResultSet>,
): Promise<MigrationResultSet> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const deadline = clock.now() + MOST_LOCKED_MS;
  for (let told: string | undefined; ; ) {
    if (signal?.aborted) throw stopped(signal);
    const { result, blockers } = await noteBlockers(database, rows[0]?.pid as number, run());
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
    if (pids !== told) onWait?.(`${message} Trying again for ${MOST_LOCKED_MS / MINUTE} minutes. ${next}`);
    told = pids;
    await clock.sleep(LOCK_AGAIN_MS, signal);
  }
}

/** 55P03: the lock was not available in time; 40P01: a deadlock. */
const LOCKED = new Set(['55P03', '40P01']);

/**
 * Shows the migrator only the tables of our bookkeeping. It reads all tables of a database with their columns, several times per
 * migration: most of a second each with hundreds of schemas.
 */
class BookkeepingDialect extends PostgresDialect {
  override createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    const introspector = super.createIntrospector(db);
    return {
      getSchemas: () => introspector.getSchemas(),
      getMetadata: options => introspector.getMetadata(options),
      async getTables() {
        const { rows } = await sql<{ name: string }>`
          select tablename as name from pg_tables where schemaname = ${BOOKKEEPING}`.execute(db);
        return rows.map(({ name }) => ({ name, schema: BOOKKEEPING, isView: false, columns: [] }));
      },
    };
  }
}

/** The migrations that `migrate` would run, as `schema/name`. Throws as well when the database is newer than this code. */
export async function pendingMigrations(options: MigrationOptions): Promise<string[]> {
  const pending: string[] = [];
  for (const series of seriesOf(options)) pending.push(...(await stateOf(options.database, series)).pending);
  return pending;
}

/** The same for the bookkeeping alone, which all schemas share; null where Sluice never ran. */
export async function pendingBookkeeping(options: MigrationOptions): Promise<string[] | null> {
  const { begun, pending } = await stateOf(options.database, bookkeeping(options));
  return begun ? pending : null;
}

async function stateOf(database: Database, series: Series): Promise<{ begun: boolean; pending: string[] }> {
  const available = Object.keys(await load(series));
  const done = await executed(database, series);
  refuseNewer(series, done, available);
  const pending = available.filter(name => !done.includes(name)).map(name => `${series.schema}/${name}`);
  return { begun: done.length > 0, pending };
}

const bookkeeping = ({ sluiceFolder }: MigrationOptions): Series => ({
  folder: sluiceFolder,
  schema: BOOKKEEPING,
  table: 'migrations',
});

function seriesOf(options: MigrationOptions): readonly Series[] {
  const { warehouseFolder, schema } = options;
  return [bookkeeping(options), { folder: warehouseFolder, schema, table: `migrations_${schema}` }];
}

/** Migrations get a Kysely that addresses their schema; raw SQL finds it through the search path. */
function within(available: Record<string, Migration>, schema: string): Record<string, Migration> {
  return Object.fromEntries(
    Object.entries(available).map(([name, migration]) => [
      name,
      { up: (db: Kysely<unknown>) => migration.up(db.withSchema(schema)) },
    ]),
  );
}

async function load(series: Series): Promise<Record<string, Migration>> {
  const files = (await readdir(series.folder)).filter(
    file => /^\d{4}_\w+\.(ts|js)$/.test(file) && !file.endsWith('.d.ts'),
  );
  const migrations: Record<string, Migration> = {};
  for (const file of files.sort()) {
    const loaded = (await import(pathToFileURL(resolve(join(series.folder, file))).href)) as Partial<Migration>;
    if (!loaded.up) throw new SluiceError('failed', `${join(series.folder, file)} does not export a function "up".`);
    migrations[file.slice(0, -3)] = { up: loaded.up };
  }
  return migrations;
}

async function executed(database: Database, series: Series): Promise<string[]> {
  const { rows } = await database.query<{ present: boolean }>('select to_regclass($1) is not null as present', [
    `${BOOKKEEPING}."${series.table.replaceAll('"', '""')}"`,
  ]);
  if (!rows[0]?.present) return [];
  const done = await sql<{
    name: string;
  }>`select name from ${sql.table(`${BOOKKEEPING}.${series.table}`)} order by name`.execute(database.kysely);
  return done.rows.map(row => row.name);
}

function refuseNewer(series: Series, done: readonly string[], available: readonly string[]): void {
  const unknown = done.filter(name => !available.includes(name));
  if (unknown.length === 0) return;
  throw new SluiceError(
    'configuration',
    `The schema "${series.schema}" was migrated by a newer Sluice (unknown here: ${unknown.join(', ')}).`,
    { next: 'Install that version or a later one.' },
  );
}

function explainFailure(error: unknown, place: string, series: Series, name: string | undefined): unknown {
  const explained = explainDatabaseError(error, place);
  if (explained instanceof SluiceError) return explained;
  const text = error instanceof Error ? error.message : String(error);
  return new SluiceError('failed', `Migration ${series.schema}/${name ?? '?'} failed and was rolled back: ${text}`, {
    next: `Nothing was changed. Correct the cause, then run "${MIGRATE}".`,
    cause: error,
  });
}
