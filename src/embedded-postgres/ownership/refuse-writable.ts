import { dirname } from 'node:path';
import { SluiceError } from '../../errors.ts';
import { runProgram } from '../run-program.ts';
import { USE_OWN_POSTGRES } from '../server-errors.ts';
import type { UserIds } from '../server-user.ts';

/** In a sticky folder such as /tmp, only the folder's owner can rename what belongs to root. */
const FIND_WRITABLE =
  'for folder; do if test -O "$folder" || { test -w "$folder" && ! test -k "$folder"; }; then echo "$folder"; fi; done';

/** Refuses folders in which `user` could replace root's. Tried as that user, because modes alone ignore access lists and mount options. */
export async function refuseWritable(folders: readonly string[], user: UserIds): Promise<void> {
  const { output } = await runProgram('/bin/sh', ['-c', FIND_WRITABLE, 'sh', ...folders], { cwd: '/', user });
  const folder = output.trim().split('\n')[0];
  if (!folder) return;
  throw new SluiceError(
    'database',
    `User id ${user.uid}, who runs the embedded Postgres, may write ${folder}: root's files in it are not safe.`,
    {
      next: `Give that folder to root (chown root, chmod go-w), set SLUICE_DATA_DIR to a folder of root's, or ${USE_OWN_POSTGRES}.`,
    },
  );
}

/** The folders above, the nearest first. */
export function foldersAbove(path: string): string[] {
  const above = dirname(path);
  return above === path ? [] : [above, ...foldersAbove(above)];
}
