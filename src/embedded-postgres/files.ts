import { constants } from 'node:fs';
import { access, chown, readFile } from 'node:fs/promises';
import type { ServerUser } from './run.ts';

export async function readIfPresent(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(error => {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  });
}

export async function present(path: string): Promise<boolean> {
  return access(path, constants.F_OK).then(
    () => true,
    error => {
      if (codeOf(error) === 'ENOENT') return false;
      throw error;
    },
  );
}

export async function giveTo(path: string, user: ServerUser): Promise<void> {
  if (user) await chown(path, user.uid, user.gid);
}

/** The errno or SQLSTATE of an error. */
export function codeOf(error: unknown): string | undefined {
  return (error as { code?: string } | undefined)?.code;
}
