import { SluiceError } from '../../errors.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { acquireSourceLock } from '../../warehouse/database/source-lock.ts';
import { applyMigrations, openMigrated } from '../run/pending-migrations.ts';
import type { Session } from '../session/session.ts';
import { isServiceRunning, underLock } from '../session/source-settings.ts';
import { type Content, withListFile } from './list-file.ts';

type Holder = {
  readonly fields?: Content;
  readonly children?: Readonly<Record<string, { readonly fields?: Content }>>;
};

/** A change of those fields of a file among which `path` stands. */
export const changeFields =
  (path: string, change: (fields: Content, name: string) => Content) =>
  (content: Content): Content => {
    const { fields = {}, children = {} } = content as Holder;
    const [outer = '', inner] = path.split('.');
    if (inner === undefined) return { ...content, fields: change(fields, outer) };
    const child = children[outer];
    const changed = { ...child, fields: change(child?.fields ?? {}, inner) };
    return { ...content, children: { ...children, [outer]: changed } };
  };

/**
 * Changes the file of a list and migrates the tables of all sources, while nobody reads them: a service goes on with the lists that it was
 * started with. What `check` throws, and a first migration that fails, leave the file as it was.
 */
export async function changeList(
  session: Session,
  resource: string,
  change: (content: Content) => Content,
  check: (database: Database, changed: Session) => Promise<void> = async () => undefined,
) {
  const { sources } = session.settings;
  const database = await openMigrated(session);
  return underLocks(database, sources, () =>
    withListFile(session, resource, change, async (file, commit) => {
      const changed: Session = { ...session, jobs: await session.reloadJobs() };
      await check(database, changed);
      for (const { schema } of sources) {
        await applyMigrations(changed, database, { schemas: [schema], putsBack: true });
        commit();
      }
      return { file, database, changed };
    }),
  );
}

const STOP = 'Stop it and run this command again; or change the file in lists/ yourself, and start it again.';

async function underLocks<T>(
  database: Database,
  [source, ...others]: Session['settings']['sources'],
  work: () => Promise<T>,
): Promise<T> {
  if (source === undefined) return work();
  const { name } = source;
  if (await isServiceRunning(database, name))
    throw new SluiceError('failed', `A service reads ${name}, so nothing was changed.`, { next: STOP });
  const lock = await acquireSourceLock(database, name, 'fields');
  const busy = `reading ${name}, so nothing was changed`;
  return underLock(lock, busy, () => underLocks(database, others, work), STOP);
}
