import { passwordFile, readerPasswordFile } from '../home-files.ts';
import { HOST } from '../port.ts';
import { readPassword } from './passwords.ts';
import { DATABASE, OWNER, READER } from './role-names.ts';

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
