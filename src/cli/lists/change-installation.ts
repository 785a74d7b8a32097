import { type FileChange, withChangedFile } from '../../config/changed-file.ts';
import { SluiceError } from '../../errors.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { acquireSourceLock } from '../../warehouse/database/source-lock.ts';
import { applyMigrations, migrateSchemas } from '../run/pending-migrations.ts';
import { followed, type Session } from '../session/session.ts';
import { isServiceRunning, underLock } from '../session/source-settings.ts';

/**
 * Changes a file that declares lists, rules or the reserve, and migrates the tables of all sources, while nobody reads them: a service goes on
 * with what it was started with. Returns the session as the files are now. Where nothing could be migrated, the file is as it was. `putsBack`: a
 * field is declared no more.
 */
export async function changeInstallation(
  session: Session,
  database: Database,
  change: FileChange,
  { putsBack = false }: { readonly putsBack?: boolean } = {},
): Promise<Session> {
  const { sources } = session.settings;
  return underLocks(session, database, sources, () =>
    withChangedFile(change, async commit => {
      const changed = followed(session, await session.reload());
      for (const { schema } of sources) {
        await migrateSchemas(changed, database, { schemas: [schema], putsBack });
        commit();
      }
      await applyMigrations(changed, database);
      return changed;
    }),
  );
}

const STOP =
  'Stop it and run this command again, or add the field in its console; or change the file in lists/ yourself, and start it again.';

async function underLocks<T>(
  session: Session,
  database: Database,
  [source, ...others]: Session['settings']['sources'],
  work: () => Promise<T>,
): Promise<T> {
  if (source === undefined) return work();
  const { name } = source;
  const isService = session.command === 'start';
  // A service that does this itself has ended its readings.
  if (!isService && (await isServiceRunning(database, name)))
    throw new SluiceError('failed', `A service reads ${name}, so nothing was changed.`, { next: STOP });
  const lock = await acquireSourceLock(database, name, 'fields');
  const busy = `reading ${name}, so nothing was changed`;
  const next = isService ? 'Try again when it has finished.' : STOP;
  return underLock(lock, busy, () => underLocks(session, database, others, work), next);
}
