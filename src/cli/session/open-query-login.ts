import type { Database } from '../../warehouse/database/database.ts';
import type { Session } from './session.ts';

/** The login that may only read. Says so where queries run with all rights of DATABASE_URL. */
export async function openQueryLogin(session: Session): Promise<Database> {
  const database = await session.openReader();
  if (database.readerUrl === null) session.terminal.note(NO_READER);
  return database;
}

const NO_READER =
  'This query runs with the rights of DATABASE_URL, because no login that may only read is set. Create one: sluice grant';
