import { createHash } from 'node:crypto';
import { copyFile, readdir, readFile, rename, rm, stat, statfs, truncate } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MINUTE, SECOND } from '../clock.ts';
import { codeOf, SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Binaries } from './binaries.ts';
import { giveFile, giveFolder, removeGiven, serverUserOf } from './home.ts';
import {
  adminPasswordFile,
  dataFolder,
  portFile,
  readIfPresent,
  replaceFile,
  serverLog,
  statUnplanted,
} from './home-files.ts';
import { ADMIN, ensurePassword, HOST } from './roles.ts';
import { runProgram, type ServerUser, USE_OWN_POSTGRES } from './run-program.ts';

export const START_TIMEOUT_MS = 2 * MINUTE;

export type PostgresSettings = Readonly<Record<string, string>>;

/** For one machine with little memory, and for data that the source can provide again. */
const SETTINGS: PostgresSettings = {
  listen_addresses: `'${HOST}'`,
  unix_socket_directories: "''",
  max_connections: '70',
  shared_buffers: '128MB',
  work_mem: '16MB',
  maintenance_work_mem: '128MB',
  // There is no replica: write the least WAL, and keep at most 1 GB of it.
  wal_level: 'minimal',
  max_wal_senders: '0',
  wal_compression: 'on',
  max_wal_size: '1GB',
  min_wal_size: '80MB',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
  jit: 'off',
  timezone: "'UTC'",
  log_timezone: "'UTC'",
  log_checkpoints: 'off',
};

/** Creates the cluster unless there is one; refuses one of another major version. */
export async function ensureCluster(home: string, binaries: Binaries, user: ServerUser, log: Log): Promise<void> {
  const found = await readIfPresent(join(dataFolder(home), 'PG_VERSION'));
  if (found?.trim() === binaries.major) return;
  if (found !== undefined) {
    throw new SluiceError(
      'database',
      `${dataFolder(home)} was created by Postgres ${found.trim()}; this version of Sluice includes Postgres ${binaries.major}.`,
      {
        next: `Dump it with the version that created it and restore the dump, or move ${home} away: Sluice fills a new warehouse from the source.`,
      },
    );
  }
  log.info({ home }, 'creating the embedded Postgres');
  await initdb(home, binaries, user);
}

/** Works in a folder of its own and renames it at the end, so that an interruption leaves no partial cluster. */
async function initdb(home: string, binaries: Binaries, user: ServerUser): Promise<void> {
  for (const name of await readdir(home)) if (name.startsWith('initdb-')) await removeGiven(join(home, name), user);
  const partial = join(home, `initdb-${process.pid}`);
  const passwordArgument = `${partial}.password`;
  await giveFile(passwordArgument, await ensurePassword(adminPasswordFile(home)), user);
  if (user) await giveFolder(partial, user);
  const { code, output } = await runProgram(
    binaries.initdb,
    [
      '-D',
      partial,
      '-U',
      ADMIN,
      `--pwfile=${passwordArgument}`,
      '--auth=scram-sha-256',
      '--no-instructions',
      // LANG=C alone would create a cluster in SQL_ASCII.
      '--encoding=UTF8',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--locale=C',
    ],
    { cwd: home, user },
  );
  await rm(passwordArgument, { force: true });
  if (code !== 0) throw await diagnose(home, 'Cannot create the embedded Postgres', output);
  const settings = join(partial, 'postgresql.conf');
  const include = "\ninclude 'sluice.conf' # written at each start; put your own settings below\n";
  await replaceFile(settings, `${await readIfPresent(settings)}${include}`, user);
  await rename(partial, dataFolder(home));
}

/** Starts the server on a free port, unless it runs; it outlives this process. `overrides` take precedence over the settings above. */
export async function startServer(
  home: string,
  pgCtl: string,
  user: ServerUser,
  overrides: PostgresSettings,
): Promise<void> {
  const hasCrashed = await disarmPidFile(home, user);
  // The children of a killed postmaster may hold its shared memory for a moment.
  const deadline = Date.now() + (hasCrashed ? 20 * SECOND : 0);
  const log = await openServerLog(home, user);
  for (let attempt = 1; ; attempt++) {
    // A process that was killed while it started the server has left it to start alone.
    if (await findPostmaster(home)) return;
    const port = await choosePort(home);
    const settings = Object.entries({ ...SETTINGS, port: String(port), ...overrides });
    const lines = settings.map(([name, value]) => `${name} = ${value}\n`);
    await replaceFile(join(dataFolder(home), 'sluice.conf'), lines.join(''), user);
    const { code, output } = await runProgram(
      pgCtl,
      ['start', '-w', '-t', String(START_TIMEOUT_MS / SECOND), '-s', '-D', dataFolder(home), '-l', log.path],
      { cwd: home, user },
    );
    if (code === 0) return;
    // Another program took the port after it was chosen.
    const isPortLost = attempt < 4 && !(await isFree(port));
    if (isPortLost) continue;
    if (Date.now() > deadline) throw await startError(home, log.size, output);
    await delay(500);
  }
}

/** Stops the server in fast mode: it ends sessions, and no committed data is lost. */
export async function stopServer(home: string, pgCtl: string, user: ServerUser, pid: number): Promise<void> {
  const { code, output } = await runProgram(
    pgCtl,
    ['stop', '-m', 'fast', '-w', '-t', '60', '-s', '-D', dataFolder(home)],
    { cwd: home, user },
  );
  if (code === 0 || !(await readPidFile(home))) return;
  throw new SluiceError('database', `The embedded Postgres (process ${pid}) did not stop: ${output.trim()}`, {
    next: `See ${serverLog(home)}.`,
  });
}

/** pg_ctl starts the server through a shell, and escapes only blanks. */
export function refuseShellCharacters(home: string, pgCtl: string): void {
  const path = [home, pgCtl].find(path => process.platform !== 'win32' && /["$`\\\n]/.test(path));
  if (path === undefined) return;
  throw new SluiceError(
    'configuration',
    `The embedded Postgres cannot run in ${path}: the path contains $, ", \\, \` or a line break.`,
    { next: 'Set SLUICE_DATA_DIR to another folder, or set DATABASE_URL.' },
  );
}

/**
 * The port of the last start if it is free, so that saved connections stay valid; otherwise one below the range of outgoing
 * connections. (get-port would refuse the same port to one process for 15 s, and fall back to any free port.)
 */
export async function choosePort(home: string): Promise<number> {
  const file = portFile(home);
  const kept = Number(await readIfPresent(file));
  const first = 15_432 + (createHash('sha256').update(home).digest().readUInt16BE() % 1000);
  const candidates = [...(kept > 0 ? [kept] : []), ...Array.from({ length: 100 }, (_, i) => first + i)];
  for (const port of candidates) {
    if (!(await isFree(port))) continue;
    if (port !== kept) await replaceFile(file, String(port), undefined);
    return port;
  }
  throw new SluiceError('database', `No port from ${first} to ${first + 99} is free for the embedded Postgres.`, {
    next: `Write the number of a free port to ${file}, or set DATABASE_URL.`,
  });
}

export function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: HOST, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

const MOST_BYTES = 10 * 1024 * 1024;

/** The log, and where the messages of the start that follows begin. pg_ctl creates the file, as the server's user. */
async function openServerLog(home: string, user: ServerUser): Promise<{ path: string; size: number }> {
  const path = serverLog(home);
  if (user) await giveFolder(dirname(path), user);
  const stats = user ? await statUnplanted(path, user.uid) : await stat(path).catch(() => undefined);
  return { path, size: (await limitServerLog(home)) ? 0 : (stats?.size ?? 0) };
}

/**
 * Above 10 MB, copies the log and empties it; false below. The running server goes on writing at its end. (Postgres' own collector
 * truncates by time, not by size.) An emptied log without a copy is better than a full disk.
 */
export async function limitServerLog(home: string): Promise<boolean> {
  const path = serverLog(home);
  const { size } = (await stat(path).catch(() => undefined)) ?? { size: 0 };
  if (size <= MOST_BYTES) return false;
  const user = await serverUserOf(home);
  if (user) await runProgram('/bin/sh', ['-c', 'cp -- "$0" "$0.1"; : > "$0"', path], { cwd: '/', user });
  else {
    await copyFile(path, `${path}.1`).catch(() => undefined);
    await truncate(path);
  }
  return true;
}

export const FREE_SPACE = 'Free some disk space, then repeat the command.';

/** Quotes what the server log gained after its first `logOffset` bytes, and the output of pg_ctl. */
export async function startError(home: string, logOffset = 0, output = ''): Promise<SluiceError> {
  const log = (await readIfPresent(serverLog(home))) ?? '';
  return diagnose(home, 'The embedded Postgres did not start', `${log.slice(logOffset)}\n${output}`);
}

/** Postgres' programs report causes only as text, so the most frequent cause, a full disk, is checked here. */
async function diagnose(home: string, failure: string, output: string): Promise<SluiceError> {
  const { bavail, bsize } = await statfs(home);
  const freeMb = Math.floor((bavail * bsize) / 1024 / 1024);
  const tail = output.trim().split('\n').slice(-12).join('\n');
  if (freeMb < 64) {
    return new SluiceError('database', `${failure}: the disk of ${home} is full (${freeMb} MB free).\n${tail}`, {
      next: FREE_SPACE,
    });
  }
  return new SluiceError('database', `${failure} in ${home}:\n${tail}`, {
    next: `See ${serverLog(home)}, or ${USE_OWN_POSTGRES}.`,
  });
}

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
  const [pid, ...others] = text.split('\n');
  // A server ends within a minute after its file was replaced. One that a killed process has begun to start may be writing it now.
  if (pid === String(NO_SUCH_PID) || (await findPostmaster(home))) return true;
  await replaceFile(file, [String(NO_SUCH_PID), ...others].join('\n'), user);
  return true;
}
