import { type Database, openDatabase } from '../../warehouse/database/database.ts';
import { migrate } from '../../warehouse/database/migrate.ts';
import type { Session } from '../session/session.ts';

const NAME = 'sluice_demo';

/** A new database on the embedded server, so that a real warehouse beside it is never touched. It stays until the next demo. */
export async function withDemoDatabase<T>(
  session: Session,
  work: (database: Database, url: string) => Promise<T>,
): Promise<T> {
  const admin = await session.openDatabase({ embedded: true });
  await admin.query(`drop database if exists ${NAME} with (force)`);
  await admin.query(`create database ${NAME}`);
  const url = new URL(admin.url);
  url.pathname = `/${NAME}`;
  const database = await openDatabase({ url: url.href, applicationName: 'sluice demo', log: session.log });
  try {
    await migrate(session.migrations(database, 'warehouse'));
    return await work(database, url.href);
  } finally {
    await database.close();
  }
}
