import { readingGrants } from '../../reading-login.ts';
import { type Database, openDatabase } from '../../warehouse/database/database.ts';
import { applyMigrations } from '../run/pending-migrations.ts';
import type { Session } from '../session/session.ts';

const NAME = 'sluice_demo';

const demoOf = (url: string): string => Object.assign(new URL(url), { pathname: `/${NAME}` }).href;

/** A new database on the embedded server, so that a real warehouse beside it is never touched. It stays until the next demo. `work` gets the address of the login that may only read. */
export async function withDemoDatabase<T>(
  session: Session,
  work: (database: Database, url: string) => Promise<T>,
): Promise<T> {
  const admin = await session.openDatabase({ embedded: true });
  await admin.query(`drop database if exists ${NAME} with (force)`);
  await admin.query(`create database ${NAME}`);
  await admin.query(`revoke temporary on database ${NAME} from public`);
  const database = await openDatabase({ url: demoOf(admin.url), applicationName: 'sluice demo', log: session.log });
  try {
    const readerUrl = admin.readerUrl ?? admin.url;
    await database.query(readingGrants(new URL(readerUrl).username));
    await applyMigrations(session, database, ['warehouse']);
    return await work(database, demoOf(readerUrl));
  } finally {
    await database.close();
  }
}
