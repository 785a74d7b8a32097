import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../errors.ts';
import { dataFolder, readIfPresent, replaceFile } from './home-files.ts';
import { runProgram, type ServerUser } from './run-program.ts';

/** No system assigns this process id, so Postgres considers a lock file that names it stale. */
const NO_SUCH_PID = 2 ** 31 - 2;

const pidFile = (home: string) => join(dataFolder(home), 'postmaster.pid');

/** postmaster.pid, by line: pid, data folder, start time, port, socket folder, address, shared memory key, state. */
export async function readPidFile(home: string) {
  const lines = (await readIfPresent(pidFile(home)))?.split('\n') ?? [];
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  // Not ready while the server starts or stops.
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' };
}

/** The running server of this home, if any. After a crash the file may name a process that is no server of ours. */
export async function findPostmaster(home: string) {
  const found = await readPidFile(home);
  if (!found || found.pid === NO_SUCH_PID || !isAlive(found.pid)) return undefined;
  const command = await commandLine(found.pid);
  return command === undefined || command.includes(dataFolder(home)) ? found : undefined;
}

/** Undefined when the system does not reveal it. */
async function commandLine(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined);
  if (process.platform === 'win32') return undefined;
  return runProgram('/bin/ps', ['-p', String(pid), '-o', 'command='], { cwd: '/', user: undefined }).then(
    ({ output }) => output,
    () => undefined,
  );
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it exists and belongs to another user.
    return codeOf(error) !== 'ESRCH';
  }
}

/**
 * Makes Postgres ignore the pid file of a crashed server, whose process id may now be another program's. Naming a process
 * that cannot exist, instead of removing the file, preserves Postgres' check of the old shared memory. False without a file.
 */
export async function disarmPidFile(home: string, user: ServerUser): Promise<boolean> {
  const file = pidFile(home);
  const text = await readIfPresent(file);
  if (text === undefined) return false;
  await replaceFile(file, [String(NO_SUCH_PID), ...text.split('\n').slice(1)].join('\n'), user);
  return true;
}
