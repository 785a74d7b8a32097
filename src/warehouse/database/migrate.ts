import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type DatabaseIntrospector,
  Kysely,
  type Migration,
  Migrator,
  PostgresDialect,
  type PostgresPoolClient,
  type QueryExecutorProvider,
  sql,
} from 'kysely';
import type pg from 'pg';
import { SluiceError } from '../../errors.ts';
import { MIGRATE } from '../../next-steps.ts';
import { createLacking } from './create-lacking.ts';
import type { Database } from './database.ts';
import { explainDatabaseError } from './database-errors.ts';
import type { DeclaredTable } from './declared-table.ts';
import { findLacking, type Lacking, namesOf } from './find-lacking.ts';
import { lockMigrations, untilUnlocked, type Waiting } from './migration-lock.ts';
import { kyselyOn } from './statements.ts';

export interface MigrationOptions extends Waiting {
  /** The warehouse schema, e.g. `warehouse`; created when absent. */
  readonly schema: string;
  /** `migrations/sluice`, run once per database, and `migrations/warehouse`, once per schema; `.ts` or compiled `.js`. */
  readonly sluiceFolder: string;
  readonly warehouseFolder: string;
  /** The tables of the lists, which the jobs declare. */
  readonly lists: readonly DeclaredTable[];
  /** The zone of timestamps that come without one. */
  readonly timeZone: string;
  /** Puts back into `_extra` what no file in `lists/` declares any more. Default: refuse to do anything. */
  readonly putsBack?: boolean;
}

/** One folder of migrations and the table of those that ran: `sluice.migrations` or `sluice.migrations_<schema>`. */
interface Series {
  readonly folder: string;
  readonly schema: string;
  readonly table: string;
}

const BOOKKEEPING = 'sluice';

/**
 * Brings both schemas up to date: runs the migrations, then creates what the jobs declare and the warehouse lacks. Returns the names of what
 * it did. Safe to call from many processes at once: all but the first wait, and report it by `onNotice`. Throws `configuration` when the
 * database was migrated by a newer Sluice or a table contradicts its job, and `database` or `failed` when a migration fails or a table
 * stays locked for minutes; a series that fails is rolled back completely.
 */
export async function migrate(options: MigrationOptions): Promise<string[]> {
  const { database } = options;
  const client = await database.connect('sluice migrate');
  try {
    // Building an index over a large table may take longer than our other statements ever may.
    await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0');
    await lockMigrations(client, options);
    const run: string[] = [];
    for (const series of seriesOf(options)) run.push(...(await runSeries(client, series, options)));
    return [...run, ...(await createDeclared(client, options))];
  } catch (error) {
    throw explainDatabaseError(error, database.place);
  } finally {
    await client.end();
  }
}

async function runSeries(client: pg.Client, series: Series, options: MigrationOptions): Promise<string[]> {
  const { database } = options;
  const available = await load(series);
  refuseNewer(series, await executed(database, series), Object.keys(available));
  await client.query(`create schema if not exists ${client.escapeIdentifier(BOOKKEEPING)}`);
  await client.query(`create schema if not exists ${client.escapeIdentifier(series.schema)}`);
  await client.query(`set search_path = ${client.escapeIdentifier(series.schema)}`);
  const migrator = new Migrator({
    db: new Kysely<unknown>({
      dialect: new BookkeepingDialect({ pool: { connect: lend(client), end: async () => undefined } }),
    }),
    provider: { getMigrations: async () => within(available, series.schema) },
    migrationTableSchema: BOOKKEEPING,
    migrationTableName: series.table,
    migrationLockTableName: `${series.table}_lock`,
  });
  const { error, results } = await untilUnlocked(client, series.schema, options, () => migrator.migrateToLatest());
  if (error) {
    const failed = results?.find(result => result.status === 'Error')?.migrationName;
    throw explainFailure(error, database.place, `Migration ${series.schema}/${failed ?? '?'}`);
  }
  return (results ?? []).map(result => `${series.schema}/${result.migrationName}`);
}

/** In one transaction. The search path is the schema, which the last series has set. */
async function createDeclared(client: pg.Client, options: MigrationOptions): Promise<string[]> {
  const { database, schema, timeZone, onNotice } = options;
  const db = kyselyOn(lend(client));
  const create = async () => {
    const zone = client.escapeLiteral(timeZone);
    // A constraint of somebody's own that waits for the end of the transaction would keep a table from being altered.
    await client.query(`begin; set local time zone ${zone}; set constraints all immediate`);
    try {
      const lacking = await lackingIn(db, options);
      const created = await createLacking(db, schema, lacking);
      await client.query('commit');
      return { names: lacking.flatMap(each => namesOf(schema, each)), ...created };
    } catch (error) {
      await client.query('rollback');
      return { error };
    }
  };
  const done = await untilUnlocked(client, schema, options, create);
  if ('error' in done) throw explainFailure(done.error, database.place, `Creating what the jobs declare in ${schema}`);
  for (const [table, rows] of done.masked.flatMap(Object.entries<number>))
    onNotice?.(`${rows === 1 ? '1 row' : `${rows} rows`} of ${table} masked.`);
  for (const [field, count] of done.unread)
    onNotice?.(
      count === 1
        ? `${field}: 1 value in _extra cannot be converted and stays there until its row is read again.`
        : `${field}: ${count} values in _extra cannot be converted and stay there until their rows are read again.`,
    );
  return done.names;
}

/**
 * What the schema lacks. Without `putsBack`, throws the kind `configuration` where something is declared no more: a command that was started in
 * a folder without those files must not take columns away from a service.
 */
export async function lackingIn(
  db: QueryExecutorProvider,
  { schema, lists, putsBack = false }: Pick<MigrationOptions, 'schema' | 'lists' | 'putsBack'>,
): Promise<Lacking[]> {
  const lacking = await findLacking(db, schema, lists);
  const gone = lacking.flatMap(({ list, tables }) =>
    tables.flatMap(({ table, undeclared }) =>
      undeclared.map(({ field }) => ({ name: `${table.name}.${field}`, list })),
    ),
  );
  const [first] = gone;
  if (putsBack) return lacking;
  refuseUnmasked(schema, lacking);
  if (first === undefined) return lacking;
  const names = gone.map(({ name }) => name).join(', ');
  throw new SluiceError(
    'configuration',
    `${schema} has ${names} from lists/${first.list.name}.json, which no longer declares ${gone.length === 1 ? 'it' : 'them'} like that. Nothing was changed.`,
    {
      next: `To put the values back into _extra: ${MIGRATE}. Otherwise restore the file, or run the command in the folder that has it.`,
    },
  );
}

/**
 * A command that was started without the setting must not store again what a service keeps from being stored, and one with another key must not
 * erase the hashes of a service.
 */
function refuseUnmasked(schema: string, lacking: readonly Lacking[]): void {
  const rekeyed = lacking.flatMap(({ list, rekeyed: masks }) => masks.map(({ field }) => `${list.name}.${field}`));
  if (rekeyed.length > 0)
    throw new SluiceError(
      'configuration',
      `The hashes of ${rekeyed.join(', ')} in ${schema} were made with another SLUICE_HASH_KEY. Nothing was changed.`,
      {
        next: `Set the key as before. To use this one, which erases the hashes until their rows are read again: ${MIGRATE}.`,
      },
    );
  const fields = lacking.flatMap(({ list, unmasked }) => unmasked.map(({ field }) => `${list.name}.${field}`));
  if (fields.length === 0) return;
  const are = fields.length === 1 ? 'is' : 'are';
  throw new SluiceError(
    'configuration',
    `${fields.join(', ')} of ${schema} ${are} not to be stored as ${fields.length === 1 ? 'it comes' : 'they come'}, but SOURCE_NEVER and SOURCE_HASH of this process do not say so. Nothing was changed.`,
    { next: `Set them as before. To store what comes from now on: ${MIGRATE}.` },
  );
}

const lend = (client: pg.Client) => async (): Promise<PostgresPoolClient> => ({
  query: client.query.bind(client) as never,
  release: () => undefined,
});

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

/** What `migrate` would do, as it names it. Throws as well when the database is newer than this code, or a table contradicts its job. */
export async function pendingMigrations(options: MigrationOptions): Promise<string[]> {
  const { database, schema } = options;
  const pending: string[] = [];
  for (const series of seriesOf(options)) pending.push(...(await stateOf(database, series)).pending);
  // The migrations create tables themselves.
  if (pending.length > 0) return pending;
  return (await lackingIn(database.kysely, options)).flatMap(each => namesOf(schema, each));
}

/** The same for the bookkeeping alone, which all schemas share; null where Sluice never ran. */
export async function pendingBookkeeping(
  options: Pick<MigrationOptions, 'database' | 'sluiceFolder'>,
): Promise<string[] | null> {
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

const bookkeeping = ({ sluiceFolder }: Pick<MigrationOptions, 'sluiceFolder'>): Series => ({
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

function explainFailure(error: unknown, place: string, what: string): unknown {
  const explained = explainDatabaseError(error, place);
  if (explained instanceof SluiceError) return explained;
  const text = error instanceof Error ? error.message : String(error);
  return new SluiceError('failed', `${what} failed and was rolled back: ${text}`, {
    next: `Nothing was changed. Correct the cause, then run "${MIGRATE}".`,
    cause: error,
  });
}
