import { constants } from 'node:fs';
import { type FileHandle, lstat, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../../errors.ts';
import { isRoot } from './is-root.ts';
import { planted, whyPlanted } from './planted.ts';

/** Windows has neither; without O_NONBLOCK, opening a pipe waits for its writer. */
const WITHOUT_LINK = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** The text of a file in a folder that another user may write; undefined if it is absent. Refuses what was planted there. */
export async function readUnlinked(path: string): Promise<string | undefined> {
  const file = await openUnlinked(path);
  if (!file) return undefined;
  try {
    const stats = await file.stat();
    // Only root can read what the user who planted it could not.
    const owner = isRoot() ? (await stat(dirname(path))).uid : stats.uid;
    const reason = whyPlanted(stats, owner);
    if (reason !== undefined) throw planted(path, reason);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

async function openUnlinked(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, WITHOUT_LINK);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    // ELOOP, on BSD EMLINK: a link; ENXIO: a socket.
    if (['ELOOP', 'EMLINK', 'ENXIO'].includes(code)) {
      throw planted(path, whyPlanted(await lstat(path), 0) ?? 'changed while it was opened');
    }
    throw error;
  }
}
