import type { Stats } from 'node:fs';
import { SluiceError } from '../../errors.ts';

/**
 * Why root must not use a file, undefined if it may. A user can plant a symbolic link to any file in a folder of theirs, a hard
 * link to files of others, and files of their own; only the last are theirs to give, and only in their own folder.
 */
export function whyPlanted(
  file: Pick<Stats, 'uid' | 'nlink' | 'isFile' | 'isSymbolicLink'>,
  folderOwner: number,
): string | undefined {
  if (file.isSymbolicLink()) return 'is a symbolic link, which is not followed';
  if (!file.isFile()) return 'is not a file';
  if (file.uid !== 0 && file.uid !== folderOwner) return `belongs to another user (id ${file.uid})`;
  if (file.uid === 0 && file.nlink > 1) return 'belongs to root and has another name (hard link)';
  return undefined;
}

export const planted = (path: string, reason: string): SluiceError =>
  new SluiceError('database', `The embedded Postgres needs ${path}, but this ${reason}.`, {
    next: 'Find out who made it, remove it or put a real file or folder there, then repeat the command.',
  });
