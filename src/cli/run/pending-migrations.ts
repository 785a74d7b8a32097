import { SluiceError } from '../../errors.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { migrate, pendingBookkeeping, pendingMigrations } from '../../warehouse/database/migrate.ts';
import type { Session } from '../cli.ts';

/** Migrates the bookkeeping and the schemas of the command's sources; returns what was run. */
export async function bringUpToDate(session: Session, database: Database): Promise<string[]> {
  const applied: string[] = [];
  for (const { schema } of session.settings.sources) {
    const options = session.migrations(database, schema);
    // Whether anything is to be done takes one statement, and no lock that others wait for.
    if ((await pendingMigrations(options)).length > 0) applied.push(...(await migrate(options)));
  }
  return applied;
}

/** What `bringUpToDate` would run, of all the command's sources or of these. */
export async function whatIsPending(
  session: Session,
  database: Database,
  sources: readonly { readonly schema: string }[] = session.settings.sources,
): Promise<string[]> {
  const pending = new Set<string>();
  for (const { schema } of sources)
    for (const name of await pendingMigrations(session.migrations(database, schema))) pending.add(name);
  return [...pending];
}

const MOST_NAMED = 3;

/** The migrations to come as a few words: a new database lacks them all. */
export function pendingText(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  return `${names.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/**
 * Whether there is bookkeeping to look into: false where Sluice never ran. Kind `configuration` where an older Sluice left it:
 * that nothing is there would be untrue, and what is there cannot be told.
 */
export async function hasBookkeeping(session: Session, database: Database): Promise<boolean> {
  const pending = await pendingBookkeeping(session.migrations(database, session.settings.sources[0]?.schema));
  if (pending === null) return false;
  if (pending.length === 0) return true;
  const message = `The tables at ${database.place} are not up to date (${pendingText(pending)}).`;
  throw new SluiceError('configuration', message, {
    next: 'Done by the next sync, or now: sluice migrate',
  });
}
