import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, realpath, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import {
  belongsToOther,
  dataFolder,
  exists,
  makeFolder,
  planted,
  readIfPresent,
  replaceFile,
  serverLog,
  statUnplanted,
  whyPlanted,
} from './home-files.ts';
import { runProgram, type ServerUser, USE_OWN_POSTGRES, type UserIds, unprivilegedUser } from './run-program.ts';

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

/** Removes a home whose server has stopped. Refuses a folder that holds no cluster: its path may come from a file. */
export async function removeHome(base: string, home: string): Promise<void> {
  if (!(await exists(join(dataFolder(home), 'PG_VERSION'))))
    throw new SluiceError('failed', `${home} holds no data of Postgres, so it was not removed.`, {
      next: `If it is yours to remove, remove it and ${locationFile(base)}.`,
    });
  await rm(home, { recursive: true });
  await rm(locationFile(base), { force: true });
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
  throw belongsToOther(home, uid, 'Run Sluice as the user who first started it, or set DATABASE_URL.');
}

async function ownDataOf(home: string): Promise<UserIds> {
  const data = await lstat(dataFolder(home));
  const user = { uid: data.uid, gid: data.gid };
  const reason =
    whyPlanted(data, user.uid, 'folder') ??
    (user.uid === 0 ? 'belongs to root, as whom Postgres refuses to run' : null);
  if (reason !== null) throw planted(dataFolder(home), reason);
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

/**
 * Refuses a home that root uses unless it is root's own: only `data` and `log` belong to `user`, who runs the server. Folders that they may
 * have planted are refused here, files where they are used.
 */
async function ownHome(home: string, user: UserIds): Promise<void> {
  await refuseWritable([...new Set([...foldersAbove(home), ...foldersAbove(await realpath(home))])], user);
  const folder = await openHome(home);
  try {
    const { uid, mode, ino, dev } = await folder.stat();
    if (uid !== 0) {
      const files = `${home} ${home}/*password ${home}/port`;
      const next = `Run Sluice as that user, give it to root (chown -h root ${files}), or set DATABASE_URL.`;
      throw belongsToOther(home, uid, next);
    }
    // The server's user must be able to enter, and a umask may have removed that.
    const wanted = (mode & 0o755) | 0o711;
    if ((mode & 0o7777) !== wanted) await folder.chmod(wanted);
    const named = await stat(home);
    if (named.ino !== ino || named.dev !== dev) throw planted(home, 'was replaced by another folder meanwhile');
  } finally {
    await folder.close();
  }
  await refuseWritable([home], user);
  for (const path of [dataFolder(home), dirname(serverLog(home))]) await statUnplanted(path, user.uid, 'folder');
}

/** A home that is a link is followed if root made the link, to a larger disk perhaps. */
async function openHome(home: string): Promise<FileHandle> {
  const found = await lstat(home);
  if (found.isSymbolicLink() && found.uid !== 0) throw planted(home, 'is a symbolic link of another user');
  return openFolder(home, found.isSymbolicLink() ? 0 : constants.O_NOFOLLOW, 'is not a folder');
}

function openFolder(path: string, follow: number, otherwise: string): Promise<FileHandle> {
  return open(path, constants.O_DIRECTORY | follow).catch(error => {
    if (codeOf(error) === 'ELOOP' || codeOf(error) === 'ENOTDIR') throw planted(path, otherwise);
    throw error;
  });
}

/** In a sticky folder such as /tmp, only the folder's owner can rename what belongs to root. */
const FIND_WRITABLE =
  'for folder; do if test -O "$folder" || { test -w "$folder" && ! test -k "$folder"; }; then echo "$folder"; fi; done';

/** Refuses folders in which `user` could replace root's. Tried as that user, because modes alone ignore access lists and mount options. */
async function refuseWritable(folders: readonly string[], user: UserIds): Promise<void> {
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

export function foldersAbove(path: string): string[] {
  const above = dirname(path);
  return above === path ? [] : [above, ...foldersAbove(above)];
}

/** A folder of `user` in root's home, created if necessary. */
export async function giveFolder(path: string, user: UserIds): Promise<void> {
  await makeFolder(path, 0o700);
  const folder = await openFolder(path, constants.O_NOFOLLOW, 'is not a folder of its own');
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
