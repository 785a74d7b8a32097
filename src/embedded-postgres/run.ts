import { execFileSync, spawn } from 'node:child_process';
import { SluiceError } from '../errors.ts';

export const USE_OTHER = 'Set DATABASE_URL to a Postgres (14 or newer) of your own.';

/** Whom the server runs as: undefined is "as ourselves"; root has to name an ordinary user, because Postgres refuses root. */
export type ServerUser = { readonly uid: number; readonly gid: number } | undefined;

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

/** Runs a program to its end; its exit code and everything it printed. */
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
