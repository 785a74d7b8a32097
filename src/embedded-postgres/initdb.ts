import { randomBytes } from 'node:crypto';
import { appendFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Binaries } from './binaries.ts';
import { diagnose } from './errors.ts';
import { giveTo, readIfPresent } from './files.ts';
import { dataOf } from './home.ts';
import { runBinary, type ServerUser } from './run.ts';

/** Of the server's only user, and of its database. */
export const NAME = 'sluice';

/** Makes the cluster beside its place and moves it there whole, so that an interrupted initdb leaves nothing half made. */
export async function initialise(home: string, binaries: Binaries, user: ServerUser, log: Log): Promise<void> {
  const found = await readIfPresent(join(dataOf(home), 'PG_VERSION'));
  if (found?.trim() === binaries.major) return;
  if (found !== undefined) {
    throw new SluiceError(
      'database',
      `${dataOf(home)} was made by Postgres ${found.trim()}; this version of Sluice brings Postgres ${binaries.major}.`,
      {
        next: `Dump it with the version that made it and load it again, or move ${home} away: a new warehouse fills itself from the source.`,
      },
    );
  }
  for (const name of await readdir(home)) {
    if (name.startsWith('initdb-')) await rm(join(home, name), { recursive: true, force: true });
  }
  log.info({ home }, 'making the embedded Postgres');
  const password = await passwordOf(home);
  const made = join(home, `initdb-${process.pid}`);
  const passwordFile = join(home, `initdb-${process.pid}.password`);
  await writeFile(passwordFile, password, { mode: 0o600 });
  await giveTo(passwordFile, user);
  const { code, output } = await runBinary(
    binaries.initdb,
    [
      '-D',
      made,
      '-U',
      NAME,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--no-instructions',
      // LANG=C alone would give a cluster in SQL_ASCII.
      '--encoding=UTF8',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--locale=C',
    ],
    { cwd: home, user },
  );
  await rm(passwordFile, { force: true });
  if (code !== 0) throw await diagnose(home, 'The embedded Postgres could not be made', output);
  await appendFile(
    join(made, 'postgresql.conf'),
    "\ninclude 'sluice.conf' # written at each start; put your own settings below\n",
  );
  await rename(made, dataOf(home));
}

async function passwordOf(home: string): Promise<string> {
  const file = join(home, 'password');
  const known = (await readIfPresent(file))?.trim();
  if (known) return known;
  const password = randomBytes(24).toString('base64url');
  await writeFile(file, password, { mode: 0o600 });
  return password;
}
