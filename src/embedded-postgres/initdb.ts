import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Binaries } from './binaries.ts';
import { giveFile, giveFolder, removeGiven } from './home.ts';
import { adminPasswordFile, dataFolder, readIfPresent, replaceFile } from './home-files.ts';
import { ADMIN, ensurePassword } from './logins.ts';
import { runProgram, type ServerUser } from './run-program.ts';
import { diagnose } from './server-process.ts';

/** Creates the cluster unless there is one; refuses one of another major version. */
export async function ensureCluster(home: string, binaries: Binaries, user: ServerUser, log: Log): Promise<void> {
  const found = await readIfPresent(join(dataFolder(home), 'PG_VERSION'));
  if (found?.trim() === binaries.major) return;
  if (found !== undefined) {
    throw new SluiceError(
      'database',
      `${dataFolder(home)} was created by Postgres ${found.trim()}; this version of Sluice includes Postgres ${binaries.major}.`,
      {
        next: `Dump it with the version that created it and restore the dump, or move ${home} away: Sluice fills a new warehouse from the source.`,
      },
    );
  }
  log.info({ home }, 'creating the embedded Postgres');
  await initdb(home, binaries, user);
}

/** Works in a folder of its own and renames it at the end, so that an interruption leaves no partial cluster. */
async function initdb(home: string, binaries: Binaries, user: ServerUser): Promise<void> {
  for (const name of await readdir(home)) if (name.startsWith('initdb-')) await removeGiven(join(home, name), user);
  const partial = join(home, `initdb-${process.pid}`);
  const passwordArgument = `${partial}.password`;
  await giveFile(passwordArgument, await ensurePassword(adminPasswordFile(home)), user);
  if (user) await giveFolder(partial, user);
  const { code, output } = await runProgram(
    binaries.initdb,
    [
      '-D',
      partial,
      '-U',
      ADMIN,
      `--pwfile=${passwordArgument}`,
      '--auth=scram-sha-256',
      '--no-instructions',
      // LANG=C alone would create a cluster in SQL_ASCII.
      '--encoding=UTF8',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--locale=C',
    ],
    { cwd: home, user },
  );
  await rm(passwordArgument, { force: true });
  if (code !== 0) throw await diagnose(home, 'Cannot create the embedded Postgres', output);
  const settings = join(partial, 'postgresql.conf');
  const include = "\ninclude 'sluice.conf' # written at each start; put your own settings below\n";
  await replaceFile(settings, `${await readIfPresent(settings)}${include}`, user);
  await rename(partial, dataFolder(home));
}
