import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { SECOND } from '../clock.ts';
import { passwordFile, readerPasswordFile, readIfPresent, replaceFile } from './home-files.ts';

export const HOST = '127.0.0.1';
/** The database, and its owner, as whom Sluice works: no superuser. */
export const DATABASE = 'sluice';
export const OWNER = 'sluice';
/** The superuser that initdb creates. Only the set-up of roles and databases logs in as it. */
export const ADMIN = 'sluice_admin';
/** The login of people and their tools: it reads, and has no way to write, to a file or to a program. */
export const READER = 'sluice_reader';

/** Where to connect; both contain a password. */
export interface Addresses {
  /** As the owner. */
  readonly url: string;
  /** As the login that may only read. */
  readonly readerUrl: string;
}

export function addressOf(login: string, password: string, port: number, database = DATABASE): string {
  return `postgres://${login}:${password}@${HOST}:${port}/${database}`;
}

/** Undefined until the roles are set up. */
export async function readAddresses(home: string, port: number): Promise<Addresses | undefined> {
  const owner = await readPassword(passwordFile(home));
  const reader = await readPassword(readerPasswordFile(home));
  if (!owner || !reader) return undefined;
  return { url: addressOf(OWNER, owner, port), readerUrl: addressOf(READER, reader, port) };
}

export async function readPassword(file: string): Promise<string | undefined> {
  return (await readIfPresent(file))?.trim() || undefined;
}

/** The password in `file`, which is created if necessary. */
export async function ensurePassword(file: string): Promise<string> {
  const known = await readPassword(file);
  if (known) return known;
  const password = randomBytes(24).toString('base64url');
  await replaceFile(file, password, undefined);
  return password;
}

export async function withSession<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10 * SECOND });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
