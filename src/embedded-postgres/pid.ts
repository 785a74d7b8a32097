import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, readIfPresent } from './files.ts';
import { dataOf } from './home.ts';
import { runBinary } from './run.ts';

/** kill(2) finds no process of this number on any system, so Postgres takes the lock file that names it for stale. */
const NO_SUCH_PID = 2 ** 31 - 2;

interface PidFile {
  readonly pid: number;
  readonly port: number;
  readonly ready: boolean;
}

/** postmaster.pid, by line: pid, data folder, start time, port, socket folder, address, shared memory key, state. */
export async function readPidFile(home: string): Promise<PidFile | undefined> {
  const text = await readIfPresent(join(dataOf(home), 'postmaster.pid'));
  const lines = text?.split('\n') ?? [];
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' };
}

/** Whether that process is the server of this home: after a crash or a restart the number may be another's. */
export async function isPostmaster(pid: number, home: string): Promise<boolean> {
  if (pid === NO_SUCH_PID || !isAlive(pid)) return false;
  const command = await commandLine(pid);
  return command === undefined || command.includes(dataOf(home));
}

/** A process's command line; undefined when the system does not tell. */
async function commandLine(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined);
  if (process.platform === 'win32') return undefined;
  return runBinary('/bin/ps', ['-p', String(pid), '-o', 'command='], { cwd: '/', user: undefined }).then(
    ({ output }) => output,
    () => undefined,
  );
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}

/**
 * After a crash, postmaster.pid may name a process that is now somebody else's, and Postgres would refuse to start. Naming a
 * process that cannot exist, instead of removing the file, keeps Postgres' own check of its shared memory.
 */
export async function disarmPidFile(home: string): Promise<boolean> {
  const file = join(dataOf(home), 'postmaster.pid');
  const text = await readIfPresent(file);
  if (text === undefined) return false;
  const handle = await open(file, 'r+');
  try {
    await handle.truncate(0);
    await handle.write([String(NO_SUCH_PID), ...text.split('\n').slice(1)].join('\n'), 0);
  } finally {
    await handle.close();
  }
  return true;
}
