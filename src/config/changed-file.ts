import { randomBytes } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchownSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { codeOf, SluiceError } from '../errors.ts';

/** A file with settings, and what it is to hold. `before`: null for a new file. */
export interface FileChange {
  readonly path: string;
  readonly before: string | null;
  readonly after: string;
}

/** Changes a file and runs `work`. Where that fails before it calls `commit`, the file is put back. Kind `failed` if it cannot be written. */
export async function withChangedFile<T>(
  { path, before, after }: FileChange,
  work: (commit: () => void) => Promise<T>,
): Promise<T> {
  // Whatever the umask: a file that others may write is not used.
  replaceFile(path, after, 0o644);
  let isCommitted = false;
  try {
    return await work(() => {
      isCommitted = true;
    });
  } catch (error) {
    if (isCommitted) throw error;
    if (before === null) rmSync(path);
    else replaceFile(path, before, 0o644);
    throw error;
  }
}

/**
 * Replaces a file at once, so that nobody reads half of it. One that is there keeps its owner and, unless `setsMode`, its mode; `mode`: of a
 * new one. Kind `failed` if it cannot be written.
 */
export function replaceFile(path: string, text: string, mode: number, { setsMode = false } = {}): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    const place = existsSync(path) ? realpathSync(path) : path;
    const stats = existsSync(place) ? statSync(place) : null;
    const next = `${place}.${randomBytes(6).toString('hex')}.new`;
    // Never through a link: others may write the folder.
    const file = openSync(next, 'wx', stats === null || setsMode ? mode : stats.mode & 0o777);
    try {
      try {
        writeFileSync(file, text);
        if (stats !== null && process.geteuid?.() === 0) fchownSync(file, stats.uid, stats.gid);
      } finally {
        closeSync(file);
      }
      renameSync(next, place);
    } catch (error) {
      rmSync(next, { force: true });
      throw error;
    }
  } catch (cause) {
    throw cannotWrite(path, cause);
  }
}

/** Kind `failed` if `replaceFile` could not write it. */
export function refuseUnwritable(path: string): void {
  const place = [path, dirname(path)].find(existsSync) ?? dirname(dirname(path));
  try {
    accessSync(place, constants.W_OK);
    // The file is written beside the one before.
    if (place === path) accessSync(dirname(path), constants.W_OK);
  } catch (cause) {
    throw cannotWrite(path, cause);
  }
}

const cannotWrite = (path: string, cause: unknown): SluiceError =>
  new SluiceError('failed', `${path} cannot be written (${codeOf(cause)}).`, {
    next: 'Nothing was changed. Change the file where it can be written, and start the program again.',
    cause,
  });
