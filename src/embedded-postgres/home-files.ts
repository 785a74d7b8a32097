import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../errors.ts';
import { isRoot } from './ownership/is-root.ts';
import { readUnlinked } from './ownership/read-unlinked.ts';

/** The cluster, Postgres' data directory. */
export const dataFolder = (home: string) => join(home, 'data');
/** In root's home the log has a folder of its own, which belongs to the server's user. */
export const serverLog = (home: string) => join(home, isRoot() ? 'log/server.log' : 'server.log');
/** The password of the owner, as whom Sluice works. */
export const passwordFile = (home: string) => join(home, 'password');
/** The password of the superuser, who only sets up roles and databases. */
export const adminPasswordFile = (home: string) => join(home, 'admin-password');
/** The password of the login that may only read. */
export const readerPasswordFile = (home: string) => join(home, 'reader-password');
/** Remembers the port of the last start. */
export const portFile = (home: string) => join(home, 'port');

export async function readIfPresent(file: string): Promise<string | undefined> {
  if (isRoot()) return readUnlinked(file);
  return readFile(file, 'utf8').catch(error => {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  });
}

export async function exists(path: string): Promise<boolean> {
  return access(path, constants.F_OK).then(
    () => true,
    error => {
      if (codeOf(error) === 'ENOENT') return false;
      throw error;
    },
  );
}
