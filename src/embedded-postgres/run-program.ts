import { execFileSync, spawn } from 'node:child_process';
import { codeOf, SluiceError } from '../errors.ts';

/** Completes a next step: "..., or set DATABASE_URL ...". */
export const USE_OWN_POSTGRES = 'set DATABASE_URL to your own Postgres (14 or newer)';

/** Runs a program to its end. `output` is everything it printed, to stdout and stderr. */
export function runProgram(
  file: string,
  args: readonly string[],
  options: { cwd: string; user: ServerUser; input?: string },
): Promise<{ code: number; output: string }> {
  const windows = process.platform === 'win32' ? ['SystemRoot', 'TEMP', 'TMP', 'USERPROFILE', 'APPDATA'] : [];
  const kept = Object.fromEntries(windows.map(name => [name, process.env[name]]).filter(([, value]) => value));
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      cwd: options.cwd,
      // Omits the caller's PG* variables, which would affect the server and pg_ctl. macOS requires LC_ALL.
      env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC', ...kept },
      stdio: 'pipe',
      windowsHide: true,
      ...options.user,
    });
    // A program that ends before it has read everything says why in its output.
    child.stdin.on('error', () => undefined).end(options.input);
    let output = '';
    const collect = (chunk: Buffer) => {
      output += chunk.toString();
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('error', cause => reject(cannotRun(file, options.user, cause)));
    // On Windows the server inherits the pipes, so 'close' may never be emitted there.
    child.on(process.platform === 'win32' ? 'exit' : 'close', (code: number | null) => {
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ code: code ?? -1, output });
    });
  });
}

function cannotRun(file: string, user: ServerUser, cause: Error): SluiceError {
  const asUser = user === undefined ? '' : ` as user id ${user.uid}`;
  return new SluiceError('database', `Cannot run ${file}${asUser}: ${codeOf(cause)}.`, {
    next: `Check that programs may run there (file permissions, noexec), or ${USE_OWN_POSTGRES}.`,
    cause,
  });
}

export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

/** The user that the server runs as; undefined is the current user. Root must name another one: Postgres refuses root. */
export type ServerUser = UserIds | undefined;

/** The user for a server that root starts: `postgres` where it exists, else `nobody`. */
export function unprivilegedUser(): UserIds {
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) => Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // This user does not exist; try the next.
    }
  }
  throw new SluiceError(
    'configuration',
    'Postgres refuses to run as root, and this machine has neither a user "postgres" nor a user "nobody".',
    { next: `Run Sluice as an ordinary user, or ${USE_OWN_POSTGRES}.` },
  );
}
