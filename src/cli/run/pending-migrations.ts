import { embeddedStatus } from '../../embedded-postgres/embedded-server.ts';
import { declareTables } from '../../engine/records/declare-table.ts';
import { SluiceError } from '../../errors.ts';
import { MIGRATE } from '../../next-steps.ts';
import { firstOf } from '../../service/format.ts';
import { writeComments } from '../../warehouse/database/comments.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { DeclaredTable } from '../../warehouse/database/declared-table.ts';
import type { Lacking } from '../../warehouse/database/find-lacking.ts';
import {
  lackingIn,
  type MigrationOptions,
  migrate,
  pendingBookkeeping,
  pendingMigrations,
} from '../../warehouse/database/migrate.ts';
import type { Session, Warehouse } from '../session/session.ts';
import { jobsOf } from '../session/source-jobs.ts';

/** No address is set, and no embedded server was made here: there is no warehouse yet. */
export const isWithoutWarehouse = async ({ settings }: Session): Promise<boolean> =>
  !settings.databaseUrl && !settings.readerUrl && (await embeddedStatus(settings.dataDir)).state === 'absent';

/** Opens the warehouse as its owner, with its tables up to date. */
export async function openMigrated(session: Session): Promise<Warehouse> {
  const database = await session.openDatabase();
  await applyMigrations(session, database);
  return database;
}

/**
 * Opens the warehouse, as the login that may only read where no other is set, and leaves it as it is, unless the owner `migrates` it. Kind `usage` where
 * there is none, `configuration` where its tables are not up to date.
 */
export async function openToRead(session: Session, { migrates = false } = {}): Promise<Warehouse> {
  const database = await session.openDatabase({ reads: true });
  const isReader = session.settings.databaseUrl === null && database.url === database.readerUrl;
  if (migrates && !isReader) await applyMigrations(session, database);
  else if (!(await hasBookkeeping(session, database)))
    throw new SluiceError('usage', 'There is no warehouse yet.', { next: 'Create one: sluice sync' });
  // What the sources' tables should be, only the owner's settings say.
  else if (!isReader) await refusePending(session, database);
  return database;
}

interface Schemas extends Pick<MigrationOptions, 'putsBack'> {
  /** Default: of all sources of the command. */
  readonly schemas?: readonly string[];
}

/** Migrates the bookkeeping and the schemas, and comments their tables; returns what was applied. */
export async function applyMigrations(session: Session, database: Database, given: Schemas = {}): Promise<string[]> {
  const applied = await migrateSchemas(session, database, given);
  const { schemas = schemasOf(session) } = given;
  await writeComments(database, schemas, declareTables(session.jobs));
  return applied;
}

/** The same without the comments. */
export async function migrateSchemas(
  session: Session,
  database: Database,
  { schemas = schemasOf(session), putsBack = false }: Schemas,
): Promise<string[]> {
  const applied: string[] = [];
  for (const schema of schemas) {
    const options = { ...optionsFor(session, database, schema), putsBack };
    // This check takes a few statements; migrating takes a lock that others wait for.
    if ((await pendingMigrations(options)).length > 0) applied.push(...(await migrate(options)));
  }
  return applied;
}

const schemasOf = ({ settings }: Session): string[] => settings.sources.map(({ schema }) => schema);

function optionsFor(session: Session, database: Database, schema: string): MigrationOptions {
  const { command, clock, draining, log, migrations, settings, terminal } = session;
  return {
    ...migrations,
    ...{ database, schema, clock },
    lists: declaredIn(session, schema),
    timeZone: settings.sources.find(source => source.schema === schema)?.timeZone ?? 'UTC',
    // The first signal, in a service too: a migration that waits for another process has not begun.
    signal: draining,
    onNotice: text => (command === 'start' ? log.info(text) : terminal.note(text)),
  };
}

/** The tables of a schema, as the settings of its source want them. */
function declaredIn(
  { jobs, settings: { sources, hashKey } }: Pick<Session, 'jobs' | 'settings'>,
  schema: string,
): DeclaredTable[] {
  const source = sources.find(each => each.schema === schema);
  return declareTables(source ? jobsOf(source, jobs, hashKey) : jobs);
}

/**
 * Kind `configuration` if the tables of the source were declared or masked anew since this process began: it would write what they lack, lack what
 * they have, or store again what must not be stored.
 */
export async function checkDeclared(
  session: Pick<Session, 'jobs' | 'settings'>,
  database: Database,
  { schema }: { readonly schema: string },
) {
  const lacking = await lackingIn(database.kysely, { schema, lists: declaredIn(session, schema), putsBack: true });
  const isLacking = ({ tables, masks, unmasked }: Lacking) =>
    masks.length + unmasked.length > 0 ||
    tables.some(({ absent, columns, undeclared }) => absent || columns.length > 0 || undeclared.length > 0);
  if (!lacking.some(isLacking)) return;
  throw new SluiceError('configuration', `The tables of ${schema} were changed since this process was started.`, {
    next: 'Start it again with the settings and the files in lists/ as they are now.',
  });
}

/** What `applyMigrations` would do. Default: for all sources of the command. */
export async function listPending(
  session: Session,
  database: Database,
  {
    sources = session.settings.sources,
    putsBack = false,
  }: { readonly sources?: readonly { readonly schema: string }[] } & Pick<MigrationOptions, 'putsBack'> = {},
): Promise<string[]> {
  const pending = new Set<string>();
  for (const { schema } of sources)
    for (const name of await pendingMigrations({ ...optionsFor(session, database, schema), putsBack }))
      pending.add(name);
  return [...pending];
}

/** Kind `configuration` while anything of it is to be migrated: what the tables lack cannot be shown. */
export async function refusePending(session: Session, database: Database): Promise<void> {
  const pending = await listPending(session, database);
  if (pending.length > 0)
    throw new SluiceError('configuration', `Pending migrations: ${pendingText(pending)}.`, { next: MIGRATE });
}

/** Names the first few: a new database lacks them all. */
export const pendingText = (names: readonly string[]): string => firstOf(names, 3);

/**
 * Whether there is bookkeeping to read: false if Sluice never ran on this database. Kind `configuration` if an older version
 * left it, because an empty answer would be wrong and its tables cannot be read.
 */
export async function hasBookkeeping(session: Session, database: Database): Promise<boolean> {
  const pending = await pendingBookkeeping({ database, ...session.migrations });
  if (pending === null) return false;
  if (pending.length === 0) return true;
  const message = `The tables at ${database.place} are not up to date (${pendingText(pending)}).`;
  throw new SluiceError('configuration', message, {
    next: 'The next sync migrates them; to migrate now: sluice migrate',
  });
}
