import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { SluiceError } from '../errors.ts';
import { codeOf, readIfPresent } from './files.ts';

export async function startError(home: string, logOffset: number, output: string): Promise<SluiceError> {
  const log = (await readIfPresent(join(home, 'server.log'))) ?? '';
  return diagnose(home, 'The embedded Postgres did not start', `${log.slice(logOffset)}\n${output}`);
}

/** Postgres' programs tell causes only as text, so the commonest, a full disk, is asked of the system. */
export async function diagnose(home: string, what: string, output: string): Promise<SluiceError> {
  const { bavail, bsize } = await statfs(home);
  const freeMb = Math.floor((bavail * bsize) / 1024 / 1024);
  const tail = output.trim().split('\n').slice(-12).join('\n');
  if (freeMb < 64) {
    return new SluiceError('database', `${what}: the disk of ${home} is full (${freeMb} MB left).\n${tail}`, {
      next: 'Free some space, then repeat the command.',
    });
  }
  return new SluiceError('database', `${what} in ${home}:\n${tail}`, {
    next: `See ${join(home, 'server.log')}, or set DATABASE_URL to a Postgres of your own.`,
  });
}

const FILE_ERRORS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the disk is read-only',
  EACCES: 'this user may not use it',
  EPERM: 'this user may not use it',
  ENOTDIR: 'a part of that path is a file',
};

export async function explainFileErrors<T>(base: string, fn: () => Promise<T>): Promise<T> {
  try {
    return await fn();
  } catch (error) {
    const reason = error instanceof SluiceError ? undefined : FILE_ERRORS[codeOf(error) ?? ''];
    if (!reason) throw error;
    const full = reason === FILE_ERRORS.ENOSPC || reason === FILE_ERRORS.EDQUOT;
    const path = full ? base : ((error as NodeJS.ErrnoException).path ?? base);
    throw new SluiceError('database', `The embedded Postgres needs ${path}, but ${reason}.`, {
      next: full
        ? 'Free some space, then repeat the command.'
        : 'Set SLUICE_DATA_DIR to a folder you can write to, run as the user who first started it, or set DATABASE_URL.',
      cause: error,
    });
  }
}
