/**
 * The default warehouse: a real Postgres server beside the project, which every process of ours shares. It is started by
 * the first that needs it, survives them all, and stops with `sluice stop-db`.
 *
 * Everything lives in one folder, the *home*: `data/` (the cluster), `password`, `port`, `server.log`. The home is
 * `SLUICE_DATA_DIR/postgres`, unless root runs us from a place its unprivileged server could not enter (a clone under /root,
 * mode 0700): then it is `/var/lib/sluice/<hash of the data dir>`, and `SLUICE_DATA_DIR/postgres.location` says so. Not a
 * temporary folder, which a restart would empty; not a looser mode on the parents, which are not ours to open.
 */
import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import {
  access,
  appendFile,
  chown,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  statfs,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { MINUTE, SECOND } from '../clock.ts';
import { SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import {
  type Binaries,
  prepareBinaries,
  removeOldCopies,
  runBinary,
  type ServerUser,
  unprivilegedUser,
} from './embedded-binaries.ts';

const NAME = 'sluice';
const HOST = '127.0.0.1';
const START_TIMEOUT_MS = 2 * MINUTE;
/** kill(2) finds no process of this number on any system, so Postgres takes the lock file that names it for stale. */
const NO_SUCH_PID = 2 ** 31 - 2;

/** For one machine with little memory, and data that the source could tell again. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: `'${HOST}'`,
  unix_socket_directories: "''",
  max_connections: '50',
  shared_buffers: '128MB',
  work_mem: '16MB',
  maintenance_work_mem: '128MB',
  // Nothing replicates from here: least WAL, at most 1 GB of it on disk.
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

export interface EmbeddedStatus {
  readonly state: 'absent' | 'stopped' | 'starting' | 'running';
  /** Where the cluster, its password and its log are. */
  readonly home: string;
  readonly pid?: number;
  readonly port?: number;
}

/**
 * Starts the embedded server, or attaches to the one that runs; `started` says which. The URL holds the password.
 * `settings` override postgresql.conf, e.g. `{ fsync: 'off' }` for tests.
 */
export async function openEmbedded(options: {
  dataDir: string;
  log: Log;
  settings?: Readonly<Record<string, string>>;
}): Promise<{ url: string; started: boolean }> {
  const base = resolve(options.dataDir);
  return explainFileErrors(base, async () => {
    const known = await locate(base);
    const running = known && (await attach(known));
    if (running) return { url: running, started: false };
    await mkdir(base, { recursive: true });
    return withStartLock(base, async () => {
      const { home, user } = await settle(base, options.log);
      const attached = await attach(home);
      if (attached) return { url: attached, started: false };
      const binaries = await prepareBinaries(home, user);
      refuseShellCharacters(home, binaries);
      await removeOldCopies(home, binaries);
      await initialise(home, binaries, user, options.log);
      await start(home, binaries, user, options.settings ?? {});
      const url = await attach(home);
      if (!url) throw await startError(home, 0, '');
      options.log.info({ home }, 'embedded Postgres started');
      return { url, started: true };
    });
  });
}

/** Stops the server (fast: sessions are ended, nothing committed is lost). False when none ran. */
export async function stopEmbedded(dataDir: string): Promise<boolean> {
  const base = resolve(dataDir);
  return explainFileErrors(base, async () => {
    const known = await locate(base);
    if (!known || !(await readPidFile(known))) return false;
    return withStartLock(base, async () => {
      const pidFile = await readPidFile(known);
      if (!pidFile || !(await isPostmaster(pidFile.pid, known))) return false;
      const user = await ownerOf(known);
      const { pgCtl } = await prepareBinaries(known, user);
      const { code, output } = await runBinary(
        pgCtl,
        ['stop', '-m', 'fast', '-w', '-t', '60', '-s', '-D', dataOf(known)],
        {
          cwd: known,
          user,
        },
      );
      if (code !== 0 && (await readPidFile(known))) {
        throw new SluiceError(
          'database',
          `The embedded Postgres (process ${pidFile.pid}) did not stop: ${output.trim()}`,
          {
            next: `See ${join(known, 'server.log')}.`,
          },
        );
      }
      return true;
    });
  });
}

/** What is there, without starting anything. */
export async function embeddedStatus(dataDir: string): Promise<EmbeddedStatus> {
  const base = resolve(dataDir);
  return explainFileErrors(base, async () => {
    const home = await locate(base);
    if (!home || !(await present(dataOf(home)))) return { state: 'absent', home: home ?? join(base, 'postgres') };
    const pidFile = await readPidFile(home);
    if (!pidFile || !(await isPostmaster(pidFile.pid, home))) return { state: 'stopped', home };
    return { state: pidFile.ready ? 'running' : 'starting', home, pid: pidFile.pid, port: pidFile.port };
  });
}

// Where the home is, and whose

const dataOf = (home: string) => join(home, 'data');

/** The home that an earlier start chose. */
async function locate(base: string): Promise<string | undefined> {
  const pointer = await readIfPresent(join(base, 'postgres.location'));
  if (pointer) return pointer.trim();
  const own = join(base, 'postgres');
  return (await present(own)) ? own : undefined;
}

/** The home, made where it is not there yet, and the user its server runs as. */
async function settle(base: string, log: Log): Promise<{ home: string; user: ServerUser }> {
  const known = await locate(base);
  if (known && (await present(dataOf(known)))) {
    const user = await ownerOf(known);
    if (user && !(await canUse(known, user))) {
      throw new SluiceError(
        'database',
        `The embedded Postgres runs as user id ${user.uid}, which cannot enter ${known}.`,
        {
          next: 'Make its parent folders enterable (chmod o+x), or set DATABASE_URL.',
        },
      );
    }
    return { home: known, user };
  }
  if (known && known !== join(base, 'postgres'))
    log.warn({ home: known }, 'the embedded Postgres is gone; making a new one');
  if (process.getuid?.() !== 0) {
    const home = known ?? join(base, 'postgres');
    await mkdir(home, { recursive: true, mode: 0o700 });
    return { home, user: undefined };
  }
  const user = unprivilegedUser();
  const own = join(base, 'postgres');
  if (await makeFor(own, user)) return { home: own, user };
  await rmdir(own).catch(() => undefined);
  const elsewhere = join(
    '/var/lib/sluice',
    createHash('sha256')
      .update(await realpath(base))
      .digest('hex')
      .slice(0, 16),
  );
  if (!(await makeFor(elsewhere, user))) {
    throw new SluiceError(
      'configuration',
      `Postgres refuses to run as root, and user id ${user.uid} can enter neither ${own} nor ${elsewhere}.`,
      {
        next: 'Set SLUICE_DATA_DIR to a folder which ordinary users can enter, run as an ordinary user, or set DATABASE_URL.',
      },
    );
  }
  await writeFile(join(base, 'postgres.location'), `${elsewhere}\n`);
  return { home: elsewhere, user };
}

async function makeFor(home: string, user: { uid: number; gid: number }): Promise<boolean> {
  await mkdir(home, { recursive: true, mode: 0o755 });
  await chown(home, user.uid, user.gid);
  return canUse(home, user);
}

/** Asked of the system itself, as that user, because modes alone leave out access lists and mount options. */
async function canUse(folder: string, user: { uid: number; gid: number }): Promise<boolean> {
  const { code } = await runBinary('/bin/sh', ['-c', 'cd "$0" && test -w .', folder], { cwd: '/', user });
  return code === 0;
}

/** As root, the server runs as whoever owns its data; otherwise as ourselves, and the data has to be ours. */
async function ownerOf(home: string): Promise<ServerUser> {
  const me = process.getuid?.();
  if (me === undefined) return undefined;
  const { uid, gid } = await stat(dataOf(home));
  if (me === 0) return { uid, gid };
  if (uid === me) return undefined;
  throw foreign(home);
}

function foreign(home: string, cause?: unknown): SluiceError {
  return new SluiceError('database', `The embedded Postgres in ${home} belongs to another user.`, {
    next: 'Run as the user who first started it, or set DATABASE_URL.',
    cause,
  });
}

// The running server

interface PidFile {
  readonly pid: number;
  readonly port: number;
  readonly ready: boolean;
}

/** postmaster.pid, by line: pid, data folder, start time, port, socket folder, address, shared memory key, state. */
async function readPidFile(home: string): Promise<PidFile | undefined> {
  const text = await readIfPresent(join(dataOf(home), 'postmaster.pid'));
  const lines = text?.split('\n') ?? [];
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' };
}

/** Whether that process is the server of this home: after a crash or a restart the number may be another's. */
async function isPostmaster(pid: number, home: string): Promise<boolean> {
  if (pid === NO_SUCH_PID) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
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

/** The URL of the running server after a successful connection; undefined when none runs. Waits out a start or a stop. */
async function attach(home: string): Promise<string | undefined> {
  const patience = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const pidFile = await readPidFile(home);
    if (!pidFile || !(await isPostmaster(pidFile.pid, home))) return undefined;
    const url = pidFile.ready ? await greet(home, pidFile.port) : undefined;
    if (url) return url;
    if (Date.now() > patience) throw await startError(home, 0, '');
    await delay(100);
  }
}

/** Connects, and makes the database if it is not there yet; undefined while the server starts or stops. */
async function greet(home: string, port: number): Promise<string | undefined> {
  const password = (await readFile(join(home, 'password'), 'utf8')).trim();
  const urlOf = (database: string) => `postgres://${NAME}:${password}@${HOST}:${port}/${database}`;
  for (const database of [NAME, 'postgres', NAME]) {
    const client = new pg.Client({ connectionString: urlOf(database), connectionTimeoutMillis: 10 * SECOND });
    client.on('error', () => undefined);
    try {
      await client.connect();
      if (database === NAME) return urlOf(NAME);
      // 42P04: another process has just made it.
      await client.query(`create database ${NAME}`).catch(error => {
        if (codeOf(error) !== '42P04') throw error;
      });
    } catch (error) {
      // 3D000 no such database (yet); 57P03 starting or stopping; a server that goes away refuses or resets.
      const code = codeOf(error);
      if (code === '3D000') continue;
      if (code === '57P03' || code === '57P01' || code === 'ECONNREFUSED' || code === 'ECONNRESET') return undefined;
      throw new SluiceError(
        'database',
        `The embedded Postgres on port ${port} runs but refuses us (${code ?? 'no answer'}).`,
        {
          next: `See ${join(home, 'server.log')}; "sluice stop-db" stops it.`,
          cause: error,
        },
      );
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  return undefined;
}

// Making and starting it

/** Makes the cluster beside its place and moves it there whole, so that an interrupted initdb leaves nothing half made. */
async function initialise(home: string, binaries: Binaries, user: ServerUser, log: Log): Promise<void> {
  const found = await readIfPresent(join(dataOf(home), 'PG_VERSION'));
  if (found?.trim() === binaries.major) return;
  if (found !== undefined) {
    throw new SluiceError(
      'database',
      `${dataOf(home)} was made by Postgres ${found.trim()}; this version of Sluice brings Postgres ${binaries.major}.`,
      {
        next: `Dump it with the version that made it and load it again, or move ${home} away: a new warehouse fills itself from the source.`,
      },
    );
  }
  for (const name of await readdir(home)) {
    if (name.startsWith('initdb-')) await rm(join(home, name), { recursive: true, force: true });
  }
  log.info({ home }, 'making the embedded Postgres');
  const password = await passwordOf(home);
  const made = join(home, `initdb-${process.pid}`);
  const passwordFile = join(home, `initdb-${process.pid}.password`);
  await writeFile(passwordFile, password, { mode: 0o600 });
  await giveTo(passwordFile, user);
  const { code, output } = await runBinary(
    binaries.initdb,
    [
      '-D',
      made,
      '-U',
      NAME,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--no-instructions',
      // LANG=C alone would give a cluster in SQL_ASCII.
      '--encoding=UTF8',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--locale=C',
    ],
    { cwd: home, user },
  );
  await rm(passwordFile, { force: true });
  if (code !== 0) throw await diagnose(home, 'The embedded Postgres could not be made', output);
  await appendFile(
    join(made, 'postgresql.conf'),
    "\ninclude 'sluice.conf' # written at each start; put your own settings below\n",
  );
  await rename(made, dataOf(home));
}

async function passwordOf(home: string): Promise<string> {
  const file = join(home, 'password');
  const known = (await readIfPresent(file))?.trim();
  if (known) return known;
  const password = randomBytes(24).toString('base64url');
  await writeFile(file, password, { mode: 0o600 });
  return password;
}

async function start(
  home: string,
  binaries: Binaries,
  user: ServerUser,
  overrides: Readonly<Record<string, string>>,
): Promise<void> {
  const leftBehind = await disarmPidFile(home);
  // The children of a postmaster that was killed may hold its shared memory for a moment.
  const patience = Date.now() + (leftBehind ? 20 * SECOND : 0);
  const log = await openServerLog(home, user);
  for (let attempt = 1; ; attempt++) {
    const port = await choosePort(home);
    const settings = { ...SETTINGS, port: String(port), ...overrides };
    const conf = join(dataOf(home), 'sluice.conf');
    await writeFile(
      conf,
      Object.entries(settings)
        .map(([name, value]) => `${name} = ${value}\n`)
        .join(''),
      { mode: 0o600 },
    );
    await giveTo(conf, user);
    const { code, output } = await runBinary(
      binaries.pgCtl,
      ['start', '-w', '-t', String(START_TIMEOUT_MS / SECOND), '-s', '-D', dataOf(home), '-l', log.path],
      { cwd: home, user },
    );
    if (code === 0) return;
    const portLost = attempt < 4 && !(await isFree(port));
    if (!portLost && Date.now() > patience) throw await startError(home, log.size, output);
    if (!portLost) await delay(500);
  }
}

/** pg_ctl starts the server through a shell, and quotes nothing but blanks. */
function refuseShellCharacters(home: string, binaries: Binaries): void {
  const path = [home, binaries.pgCtl].find(path => process.platform !== 'win32' && /["$`\\\n]/.test(path));
  if (path === undefined) return;
  throw new SluiceError(
    'configuration',
    `The embedded Postgres cannot run in ${path}, because of a $, ", \\ or \` in that path.`,
    {
      next: 'Set SLUICE_DATA_DIR to another folder, or set DATABASE_URL.',
    },
  );
}

/**
 * After a crash, postmaster.pid may name a process that is now somebody else's, and Postgres would refuse to start. Naming a
 * process that cannot exist, instead of removing the file, keeps Postgres' own check of its shared memory.
 */
async function disarmPidFile(home: string): Promise<boolean> {
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

async function openServerLog(home: string, user: ServerUser): Promise<{ path: string; size: number }> {
  const path = join(home, 'server.log');
  const before = await stat(path).catch(() => undefined);
  if (before && before.size > 10 * 1024 * 1024) await rename(path, `${path}.1`);
  await appendFile(path, '', { mode: 0o600 });
  await giveTo(path, user);
  return { path, size: (await stat(path)).size };
}

async function giveTo(path: string, user: ServerUser): Promise<void> {
  if (user) await chown(path, user.uid, user.gid);
}

/** The port of last time while it is free, so that people's connections stay valid; below the range of outgoing connections. */
async function choosePort(home: string): Promise<number> {
  const file = join(home, 'port');
  const kept = Number(await readIfPresent(file));
  const first = 15_432 + (createHash('sha256').update(home).digest().readUInt16BE() % 1000);
  const candidates = [...(kept > 0 ? [kept] : []), ...Array.from({ length: 100 }, (_, i) => first + i)];
  for (const port of candidates) {
    if (!(await isFree(port))) continue;
    if (port !== kept) await writeFile(file, String(port));
    return port;
  }
  throw new SluiceError('database', `No free port for the embedded Postgres between ${first} and ${first + 99}.`, {
    next: `Write a free one to ${file}, or set DATABASE_URL.`,
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: HOST, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

// One starter at a time

/**
 * Brackets the steps that only one process may take. It saves work, correctness does not rest on it: the cluster appears by
 * one rename, and Postgres locks its own folder. A holder that died, or that left the file untouched for 30 s, is succeeded.
 */
async function withStartLock<T>(base: string, fn: () => Promise<T>): Promise<T> {
  const file = join(base, 'postgres.lock');
  const token = `${process.pid} ${randomBytes(8).toString('hex')}`;
  const patience = Date.now() + START_TIMEOUT_MS + MINUTE;
  while (!(await tryCreate(file, token))) {
    await succeedDeadHolder(file);
    if (Date.now() > patience) {
      throw new SluiceError('database', 'Another process has been starting the embedded Postgres for minutes.', {
        next: `If none is, remove ${file}.`,
      });
    }
    await delay(100);
  }
  const touch = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => undefined), 5 * SECOND);
  try {
    return await fn();
  } finally {
    clearInterval(touch);
    if ((await readIfPresent(file)) === token) await rm(file, { force: true });
  }
}

async function tryCreate(file: string, token: string): Promise<boolean> {
  try {
    await writeFile(file, token, { flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

async function succeedDeadHolder(file: string): Promise<void> {
  const holder = await readIfPresent(file);
  const touched = await stat(file).catch(() => undefined);
  if (holder === undefined || !touched) return;
  const ageMs = Date.now() - touched.mtimeMs;
  const pid = Number(holder.split(' ')[0]);
  // An empty file is one that is just being written.
  const dead = pid > 0 && !isAlive(pid);
  if (!dead && ageMs < 30 * SECOND) return;
  const aside = `${file}.${process.pid}`;
  await rename(file, aside).catch(() => undefined);
  // Somebody else succeeded first and we took the new lock: put it back.
  if ((await readIfPresent(aside)) !== holder) await rename(aside, file).catch(() => undefined);
  await rm(aside, { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}

// Telling what went wrong

async function startError(home: string, logOffset: number, output: string): Promise<SluiceError> {
  const log = (await readIfPresent(join(home, 'server.log'))) ?? '';
  return diagnose(home, 'The embedded Postgres did not start', `${log.slice(logOffset)}\n${output}`);
}

/** Postgres' programs tell causes only as text, so the commonest, a full disk, is asked of the system. */
async function diagnose(home: string, what: string, output: string): Promise<SluiceError> {
  const { bavail, bsize } = await statfs(home);
  const freeMb = Math.floor((bavail * bsize) / 1024 / 1024);
  const tail = output.trim().split('\n').slice(-12).join('\n');
  if (freeMb < 64) {
    return new SluiceError('database', `${what}: the disk of ${home} is full (${freeMb} MB left).\n${tail}`, {
      next: 'Free some space, then repeat the command.',
    });
  }
  return new SluiceError('database', `${what} in ${home}:\n${tail}`, {
    next: `See ${join(home, 'server.log')}, or set DATABASE_URL to a Postgres of your own.`,
  });
}

const FILE_ERRORS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the disk is read-only',
  EACCES: 'this user may not use it',
  EPERM: 'this user may not use it',
  ENOTDIR: 'a part of that path is a file',
};

async function explainFileErrors<T>(base: string, fn: () => Promise<T>): Promise<T> {
  try {
    return await fn();
  } catch (error) {
    const reason = error instanceof SluiceError ? undefined : FILE_ERRORS[codeOf(error) ?? ''];
    if (!reason) throw error;
    const full = reason === FILE_ERRORS.ENOSPC || reason === FILE_ERRORS.EDQUOT;
    const path = full ? base : ((error as NodeJS.ErrnoException).path ?? base);
    throw new SluiceError('database', `The embedded Postgres needs ${path}, but ${reason}.`, {
      next: full
        ? 'Free some space, then repeat the command.'
        : 'Set SLUICE_DATA_DIR to a folder you can write to, run as the user who first started it, or set DATABASE_URL.',
      cause: error,
    });
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string } | undefined)?.code;
}

async function readIfPresent(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(error => {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  });
}

async function present(path: string): Promise<boolean> {
  return access(path, constants.F_OK).then(
    () => true,
    error => {
      if (codeOf(error) === 'ENOENT') return false;
      throw error;
    },
  );
}
