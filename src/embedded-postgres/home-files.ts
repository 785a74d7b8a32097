import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, SluiceError } from '../errors.ts';
import { runProgram, type ServerUser, USE_OWN_POSTGRES } from './run-program.ts';

/** The cluster, Postgres' data directory. */
export const dataFolder = (home: string) => join(home, 'data');
/** In root's home the log has a folder of its own, which belongs to the server's user. */
export const serverLog = (home: string) => join(home, isRoot() ? 'log/server.log' : 'server.log');
/** The password of the owner, as whom Sluice works. */
export const passwordFile = (home: string) => join(home, 'password');
/** The password of the superuser, who only sets up roles and databases. */
export const adminPasswordFile = (home: string) => join(home, 'admin-password');
/** The password of the login that may only read. */
export const readerPasswordFile = (home: string) => join(home, 'reader-password');
export const portFile = (home: string) => join(home, 'port');

/** Makes what is absent undefined. */
const ifAbsent =
  (...codes: string[]) =>
  (error: unknown): undefined => {
    if (!codes.includes(codeOf(error))) throw error;
  };

export const readIfPresent = (file: string): Promise<string | undefined> =>
  isRoot() ? readUnlinked(file) : readFile(file, 'utf8').catch(ifAbsent('ENOENT', 'ENOTDIR'));

/** Of the path itself where it is a link; undefined if it is absent. */
export const statLink = (path: string): Promise<Stats | undefined> => lstat(path).catch(ifAbsent('ENOENT'));

/** The same, and refuses what was planted there in the folder of `owner`. */
export async function statUnplanted(path: string, owner: number, kind?: 'file' | 'folder'): Promise<Stats | undefined> {
  const stats = await statLink(path);
  const reason = stats && whyPlanted(stats, owner, kind);
  if (reason !== undefined) throw planted(path, reason);
  return stats;
}

export const exists = async (path: string): Promise<boolean> =>
  (await stat(path).catch(ifAbsent('ENOENT'))) !== undefined;

/** Root may write everything, so it must not follow what another user has put in its way. */
const isRoot = (): boolean => process.getuid?.() === 0;

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

/**
 * Why root must not use a file or folder, undefined if it may. A user can plant a symbolic link to any file in a folder of theirs, a hard
 * link to files of others, and files of their own; only the last are theirs to give, and only in their own folder.
 */
export function whyPlanted(
  file: Pick<Stats, 'uid' | 'nlink' | 'isFile' | 'isDirectory' | 'isSymbolicLink'>,
  folderOwner: number,
  kind: 'file' | 'folder' = 'file',
): string | undefined {
  if (file.isSymbolicLink()) return 'is a symbolic link, which is not followed';
  if (!(kind === 'file' ? file.isFile() : file.isDirectory())) return `is not a ${kind}`;
  // A new folder is root's until it is given away.
  if (file.uid !== 0 && file.uid !== folderOwner) return `belongs to another user (id ${file.uid})`;
  // Every folder has several names: its own, its dot, and those of the folders in it.
  if (kind === 'file' && file.uid === 0 && file.nlink > 1) return 'belongs to root and has another name (hard link)';
  return undefined;
}

export const planted = (path: string, reason: string): SluiceError =>
  new SluiceError('database', `The embedded Postgres needs ${path}, but this ${reason}.`, {
    next: 'Find out who made it, remove it or put a real file or folder there, then repeat the command.',
  });

/**
 * Creates a folder and those above it; one that exists is left as it is. Node's `recursive` mkdir tries forever where a file system
 * answers ENOENT although the parent exists, as /proc does: it occupies a core, and the process cannot even be stopped.
 */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  if (await tryMake(path, mode)) return;
  const parent = dirname(path);
  if (parent !== path) await makeFolder(parent, mode);
  if (await tryMake(path, mode)) return;
  throw new SluiceError('database', `The embedded Postgres needs ${path}, but no folder can be created there.`, {
    next: 'Set SLUICE_DATA_DIR to a writable folder, or set DATABASE_URL.',
  });
}

/** False if the system says that a folder above is absent. */
async function tryMake(path: string, mode: number | undefined): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    return true;
  } catch (error) {
    const code = codeOf(error);
    // EEXIST may also be a file; what uses the folder reports that.
    if (code === 'EEXIST') return true;
    if (code === 'ENOENT') return false;
    throw error;
  }
}

/**
 * Replaces a file by one that only its owner may read; the file or link that had the name is never written through. For a file in
 * a folder that `user` may write, this is done as that user, whose links reach no further than the user does.
 */
export async function replaceFile(path: string, text: string, user: ServerUser): Promise<void> {
  if (!user) {
    const next = `${path}.new`;
    await rm(next, { force: true });
    await writeFile(next, text, { flag: 'wx', mode: 0o600 });
    return rename(next, path);
  }
  const { code, output } = await runProgram('/bin/sh', ['-c', REPLACE, path], { cwd: '/', user, input: text });
  if (code === 0) return;
  throw new SluiceError(
    'database',
    `User id ${user.uid}, who runs the embedded Postgres, cannot write ${path}: ${output.trim()}`,
    { next: `Check the permissions of its folder and the free disk space, or ${USE_OWN_POSTGRES}.` },
  );
}

const REPLACE = 'umask 077 && rm -f -- "$0.new" && cat > "$0.new" && mv -f -- "$0.new" "$0"';

export const belongsToOther = (home: string, uid: number, next: string): SluiceError =>
  new SluiceError('database', `The embedded Postgres in ${home} belongs to another user (id ${uid}).`, { next });
