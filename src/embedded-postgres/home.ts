import { createHash } from 'node:crypto';
import { lstat, realpath, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import { dataFolder, exists, makeFolder, planted, readIfPresent, replaceFile } from './home-files.ts';
import { ownHome } from './ownership.ts';
import { runProgram, type ServerUser, type UserIds, unprivilegedUser } from './run-program.ts';

/** The usual home, `<data dir>/postgres`. */
export const defaultHome = (base: string) => join(base, 'postgres');
/** Holds the path of the home when that lies elsewhere. */
const locationFile = (base: string) => join(base, 'postgres.location');

/** The home that an earlier start chose. */
export async function findHome(base: string): Promise<string | undefined> {
  const elsewhere = await readIfPresent(locationFile(base));
  if (elsewhere) return elsewhere.trim();
  const home = defaultHome(base);
  return (await exists(home)) ? home : undefined;
}

/** The home, created if necessary, and the user that its server runs as. */
export async function prepareHome(base: string, log: Log): Promise<{ home: string; user: ServerUser }> {
  const known = await findHome(base);
  if (known && (await exists(dataFolder(known)))) return { home: known, user: await usableBy(known) };
  if (known && known !== defaultHome(base))
    log.warn({ home: known }, 'the embedded Postgres is missing; creating a new one');
  if (process.getuid?.() === 0) return createAsRoot(base);
  const home = known ?? defaultHome(base);
  await makeFolder(home, 0o700);
  return { home, user: undefined };
}

/** The owner of the cluster when root starts its server, in a home made root's own; undefined for the current user, who must own it. */
export async function serverUserOf(home: string): Promise<ServerUser> {
  const me = process.getuid?.();
  if (me === undefined) return undefined;
  if (me === 0) return ownDataOf(home);
  const { uid } = await stat(dataFolder(home));
  if (uid === me) return undefined;
  throw new SluiceError('database', `The embedded Postgres in ${home} belongs to another user (id ${uid}).`, {
    next: 'Run Sluice as the user who first started it, or set DATABASE_URL.',
  });
}

async function ownDataOf(home: string): Promise<UserIds> {
  const data = await lstat(dataFolder(home));
  if (data.isSymbolicLink()) throw planted(dataFolder(home), 'is a symbolic link, which is not followed');
  if (!data.isDirectory()) throw planted(dataFolder(home), 'is not a folder');
  if (data.uid === 0) throw planted(dataFolder(home), 'belongs to root, as whom Postgres refuses to run');
  const user = { uid: data.uid, gid: data.gid };
  await ownHome(home, user);
  return user;
}

async function usableBy(home: string): Promise<ServerUser> {
  const user = await serverUserOf(home);
  if (!user || (await canEnter(home, user))) return user;
  throw new SluiceError('database', `The embedded Postgres runs as user id ${user.uid}, which cannot enter ${home}.`, {
    next: 'Let that user enter its parent folders (chmod o+x), or set DATABASE_URL.',
  });
}

/** In the data dir if an unprivileged user can enter it, else under /var/lib/sluice. */
async function createAsRoot(base: string): Promise<{ home: string; user: UserIds }> {
  const user = unprivilegedUser();
  const home = defaultHome(base);
  if (await createFor(home, user)) return { home, user };
  await rmdir(home).catch(() => undefined);
  const hash = createHash('sha256').update(await realpath(base));
  const elsewhere = join('/var/lib/sluice', hash.digest('hex').slice(0, 16));
  if (!(await createFor(elsewhere, user))) {
    throw new SluiceError(
      'configuration',
      `Postgres refuses to run as root, and user id ${user.uid} can enter neither ${home} nor ${elsewhere}.`,
      {
        next: 'Set SLUICE_DATA_DIR to a folder that ordinary users can enter, run Sluice as an ordinary user, or set DATABASE_URL.',
      },
    );
  }
  await replaceFile(locationFile(base), `${elsewhere}\n`, undefined);
  return { home: elsewhere, user };
}

async function createFor(home: string, user: UserIds): Promise<boolean> {
  await makeFolder(home, 0o755);
  await ownHome(home, user);
  return canEnter(home, user);
}

/** Tried as that user, because modes alone ignore access lists and mount options. */
async function canEnter(folder: string, user: UserIds): Promise<boolean> {
  const { code } = await runProgram('/bin/sh', ['-c', 'cd "$0"', folder], { cwd: '/', user });
  return code === 0;
}
