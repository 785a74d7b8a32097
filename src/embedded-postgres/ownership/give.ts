import { constants } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { codeOf } from '../../errors.ts';
import { exists } from '../home-files.ts';
import { makeFolder } from '../make-folder.ts';
import { runProgram } from '../run-program.ts';
import type { ServerUser, UserIds } from '../server-user.ts';
import { planted } from './planted.ts';

/** A folder of `user` in root's home, created if necessary. */
export async function giveFolder(path: string, user: UserIds): Promise<void> {
  await makeFolder(path, 0o700);
  const folder = await open(path, constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(error => {
    if (codeOf(error) === 'ELOOP' || codeOf(error) === 'ENOTDIR') throw planted(path, 'is not a folder of its own');
    throw error;
  });
  try {
    const { uid } = await folder.stat();
    if (uid === user.uid) return;
    if (uid !== 0) throw planted(path, `belongs to another user (id ${uid})`);
    await folder.chown(user.uid, user.gid);
  } finally {
    await folder.close();
  }
}

/** Creates a file that only `user` may read; refuses to use one that exists. */
export async function giveFile(path: string, text: string, user: ServerUser): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    if (user) await file.chown(user.uid, user.gid);
  } finally {
    await file.close();
  }
}

/**
 * Removes a file or folder of the home. `user` could turn parts of its folders into links meanwhile: they are emptied as that user,
 * and what is left by `rm`, which unlike Node descends by descriptors and follows no link.
 */
export async function removeGiven(path: string, user: ServerUser): Promise<void> {
  if (!user) return rm(path, { recursive: true, force: true });
  for (const remover of [user, undefined]) {
    await runProgram('/bin/rm', ['-rf', '--', path], { cwd: '/', user: remover });
  }
  if (await exists(path)) throw planted(path, 'cannot be removed');
}
