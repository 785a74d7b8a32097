import { SluiceError } from '../../errors.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { acquireSourceLock } from '../../warehouse/database/source-lock.ts';
import { applyMigrations, migrateSchemas } from '../run/pending-migrations.ts';
import type { Session } from '../session/session.ts';
import { isServiceRunning, underLock } from '../session/source-settings.ts';
import { type Content, withListFile } from './list-file.ts';

/**
 * Changes the file of a list and migrates the tables of all sources, while nobody reads them: a service goes on with the lists that it was
 * started with. Returns the file, and the session with the changed list. Where nothing could be migrated, the file is as it was. `putsBack`: a
 * field is declared no more.
 */
export async function changeList(
  session: Session,
  database: Database,
  {
    resource,
    edit,
    putsBack,
  }: {
    readonly resource: string;
    readonly edit: (content: Content) => Content;
    readonly putsBack: boolean;
  },
): Promise<{ readonly file: string; readonly changed: Session }> {
  const { sources } = session.settings;
  return underLocks(session, database, sources, () =>
    withListFile(session, resource, edit, async (file, commit) => {
      const changed: Session = { ...session, jobs: await session.reloadJobs() };
      for (const { schema } of sources) {
        await migrateSchemas(changed, database, { schemas: [schema], putsBack });
        commit();
      }
      await applyMigrations(changed, database);
      return { file, changed };
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
