import { SluiceError } from '../../errors.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { findPowers } from '../../warehouse/reports/server.ts';
import type { Session } from '../session/session.ts';

/** Connections of a service's login that may only read: one more than the queries that run at the same time. */
const READER_CONNECTIONS = 5;

/** How many connections the service takes for the login that may only read; 0 where none is set. */
export const readerConnections = ({ databaseUrl, readerUrl }: Session['settings']): number =>
  databaseUrl !== null && readerUrl === null ? 0 : READER_CONNECTIONS;

/**
 * The login as which a service runs people's queries, opened when it is first asked for and closed with the session; null where none is
 * set: it would be the owner, who may write. Rejects with kind `configuration` while it is the owner or may do more than read.
 */
export function serviceReader(
  session: Pick<Session, 'openReader' | 'settings'>,
  owner: Database,
): () => Promise<Database | null> {
  const most = readerConnections(session.settings);
  let opening: Promise<Database> | undefined;
  let isChecked = false;
  return async () => {
    if (most === 0) return null;
    opening ??= session.openReader({ most }).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    const reader = await opening;
    if (!isChecked) await refuseMighty(reader, owner);
    isChecked = true;
    return reader;
  };
}

async function refuseMighty(reader: Database, owner: Database): Promise<void> {
  const mighty = await describeMighty(reader, owner);
  if (mighty === null) return;
  const { found, next } = mighty;
  throw new SluiceError('configuration', `READER_DATABASE_URL: ${found}, so the service runs no query as it.`, {
    next,
  });
}

/** Why people's queries should not run as this login; null if nothing speaks against it. */
export async function describeMighty(reader: Database, owner: Database) {
  const powers = await findPowers(reader);
  const [login, other] = await Promise.all([reader, owner].map(loginOf));
  const found = powers ?? (login === other ? `the login ${login} is the one of DATABASE_URL, which may write` : null);
  return found === null ? null : { found, next: 'Create another: sluice grant' };
}

async function loginOf(database: Database): Promise<string | undefined> {
  const { rows } = await database.query<{ login: string }>('select session_user as login');
  return rows[0]?.login;
}
