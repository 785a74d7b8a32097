import { rename, rm, writeFile } from 'node:fs/promises';
import { SluiceError } from '../../errors.ts';
import { runProgram } from '../run-program.ts';
import { USE_OWN_POSTGRES } from '../server-errors.ts';
import type { ServerUser } from '../server-user.ts';

/**
 * Replaces a file by one that only its owner may read; the file or link that had the name is never written through. For a file in
 * a folder that `user` may write, this is done as that user, whose links reach no further than the user does.
 */
export async function replaceFile(path: string, text: string, user: ServerUser): Promise<void> {
  if (user) return replaceAs(user, path, text);
  const next = `${path}.new`;
  await rm(next, { force: true });
  await writeFile(next, text, { flag: 'wx', mode: 0o600 });
  await rename(next, path);
}

const REPLACE = 'umask 077 && rm -f -- "$0.new" && cat > "$0.new" && mv -f -- "$0.new" "$0"';

async function replaceAs(user: NonNullable<ServerUser>, path: string, text: string): Promise<void> {
  const { code, output } = await runProgram('/bin/sh', ['-c', REPLACE, path], { cwd: '/', user, input: text });
  if (code === 0) return;
  throw new SluiceError(
    'database',
    `User id ${user.uid}, who runs the embedded Postgres, cannot write ${path}: ${output.trim()}`,
    {
      next: `Check the permissions of its folder and the free disk space, or ${USE_OWN_POSTGRES}.`,
    },
  );
}
