import { statfs } from 'node:fs/promises';
import { codeOf, SluiceError } from '../errors.ts';
import { readIfPresent, serverLog } from './home-files.ts';

/** Completes a next step: "..., or set DATABASE_URL ...". */
export const USE_OWN_POSTGRES = 'set DATABASE_URL to your own Postgres (14 or newer)';

const FREE_SPACE = 'Free some disk space, then repeat the command.';

/** Quotes what the server log gained after its first `logOffset` bytes, and the output of pg_ctl. */
export async function startError(home: string, logOffset = 0, output = ''): Promise<SluiceError> {
  const log = (await readIfPresent(serverLog(home))) ?? '';
  return diagnose(home, 'The embedded Postgres did not start', `${log.slice(logOffset)}\n${output}`);
}

/** Postgres' programs report causes only as text, so the most frequent cause, a full disk, is checked here. */
export async function diagnose(home: string, failure: string, output: string): Promise<SluiceError> {
  const { bavail, bsize } = await statfs(home);
  const freeMb = Math.floor((bavail * bsize) / 1024 / 1024);
  const tail = output.trim().split('\n').slice(-12).join('\n');
  if (freeMb < 64) {
    return new SluiceError('database', `${failure}: the disk of ${home} is full (${freeMb} MB free).\n${tail}`, {
      next: FREE_SPACE,
    });
  }
  return new SluiceError('database', `${failure} in ${home}:\n${tail}`, {
    next: `See ${serverLog(home)}, or ${USE_OWN_POSTGRES}.`,
  });
}

const DISK_FULL: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exhausted',
};
const UNUSABLE: Readonly<Record<string, string>> = {
  EROFS: 'the file system is read-only',
  EACCES: 'this user has no permission to use it',
  EPERM: 'this user has no permission to use it',
  ENOTDIR: 'a part of that path is not a folder',
};

/** Turns file system errors of `fn` into the kind `database`, with the path and the next step. */
export async function explainFileErrors<T>(base: string, fn: () => Promise<T>): Promise<T> {
  try {
    return await fn();
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    const code = codeOf(error);
    const full = DISK_FULL[code];
    const reason = full ?? UNUSABLE[code];
    if (!reason) throw error;
    const path = full ? base : ((error as NodeJS.ErrnoException).path ?? base);
    throw new SluiceError('database', `The embedded Postgres needs ${path}, but ${reason}.`, {
      next: full
        ? FREE_SPACE
        : 'Set SLUICE_DATA_DIR to a writable folder, run Sluice as the user who first started it, or set DATABASE_URL.',
      cause: error,
    });
  }
}
