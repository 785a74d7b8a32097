/**
 * The default warehouse: a real Postgres server in the project's folder, shared by every Sluice process. The first process
 * that needs it starts it; it outlives them all, and stops with `sluice stop-db`.
 *
 * Everything lies in one folder, the *home*: `data/` (the cluster), a password for each role, `port`, `server.log`. Where root runs
 * Sluice, the home is root's, and the server's user owns only `data/` and `log/`, which then holds the log. The home is
 * `SLUICE_DATA_DIR/postgres`. If root runs Sluice where the unprivileged server could not enter (a clone under /root, mode
 * 0700), it is `/var/lib/sluice/<hash of the data dir>`, recorded in `SLUICE_DATA_DIR/postgres.location`: a temporary folder
 * would not survive a reboot, and the modes of the parent folders are not Sluice's to change.
 */
import { rmdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { codeOf, SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import { prepareBinaries, removeOldCopies } from './binaries.ts';
import { defaultHome, findHome, prepareHome, removeHome, serverUserOf } from './home.ts';
import { belongsToOther, dataFolder, exists, makeFolder, passwordFile, serverLog, statLink } from './home-files.ts';
import { type Addresses, areRolesIntact, READER, readAddresses, setUpRoles } from './roles.ts';
import {
  ensureCluster,
  FREE_SPACE,
  findPostmaster,
  limitServerLog,
  type PostgresSettings,
  readPidFile,
  refuseShellCharacters,
  START_TIMEOUT_MS,
  startError,
  startServer,
  stopServer,
} from './server-process.ts';
import { withStartLock } from './start-lock.ts';

interface EmbeddedStatus {
  readonly state: 'absent' | 'stopped' | 'starting' | 'running';
  readonly home: string;
  readonly pid?: number;
  readonly port?: number;
}

/**
 * Attaches to the running server, or starts it; `started` says which. The addresses contain passwords.
 * `settings` override postgresql.conf, e.g. `{ fsync: 'off' }` for tests.
 */
export async function openEmbedded(options: {
  dataDir: string;
  log: Log;
  settings?: PostgresSettings;
}): Promise<Addresses & { started: boolean }> {
  const { dataDir, log, settings = {} } = options;
  return explainFileErrors(dataDir, async base => {
    const known = await findHome(base);
    const running = known && (await attach(known, log));
    if (running) {
      await limitServerLog(known);
      return { ...running, started: false };
    }
    // Root's server runs as another user, who must be able to enter.
    await makeFolder(base, process.getuid?.() === 0 ? undefined : 0o700);
    return withStartLock(base, async () => {
      const { home, user } = await prepareHome(base, log);
      // Another process may have started it while this one waited for the lock.
      const attached = await attach(home, log);
      if (attached) return { ...attached, started: false };
      const binaries = await prepareBinaries(home, user);
      refuseShellCharacters(home, binaries.pgCtl);
      await removeOldCopies(home, binaries, user);
      await ensureCluster(home, binaries, user, log);
      await startServer(home, binaries.pgCtl, user, settings);
      const opened = await attach(home, log);
      if (!opened) throw await startError(home);
      log.info({ home }, 'embedded Postgres started');
      return { ...opened, started: true };
    });
  });
}

/** Stops the server. False when none was running. */
export async function stopEmbedded(dataDir: string): Promise<boolean> {
  return explainFileErrors(dataDir, async base => {
    const home = await findHome(base);
    if (!home || !(await readPidFile(home))) return false;
    return withStartLock(base, () => stopIn(home));
  });
}

/** Stops the server and removes its home, with all databases, passwords and logs, and the data folder if nothing else is there. */
export async function removeEmbedded(dataDir: string): Promise<void> {
  await explainFileErrors(dataDir, async base => {
    const home = await findHome(base);
    if (!home) return;
    await withStartLock(base, async () => {
      await stopIn(home);
      await removeHome(base, home);
    });
    // Another program may keep something there.
    await rmdir(base).catch(() => undefined);
  });
}

async function stopIn(home: string): Promise<boolean> {
  const server = await findPostmaster(home);
  if (!server) return false;
  const user = await serverUserOf(home);
  const { pgCtl } = await prepareBinaries(home, user);
  await stopServer(home, pgCtl, user, server.pid);
  return true;
}

/** The state of the server, without starting it. */
export async function embeddedStatus(dataDir: string): Promise<EmbeddedStatus> {
  return explainFileErrors(dataDir, async base => {
    const home = await findHome(base);
    if (!home || !(await exists(dataFolder(home)))) return { state: 'absent', home: home ?? defaultHome(base) };
    const server = await findPostmaster(home);
    if (!server) return { state: 'stopped', home };
    return { state: server.ready ? 'running' : 'starting', home, pid: server.pid, port: server.port };
  });
}

/** Whether an address is one of the embedded server of this folder, whose passwords no other has; its port may have changed since. */
export async function isEmbedded(dataDir: string, url: string): Promise<boolean> {
  return explainFileErrors(dataDir, async base => {
    const home = await findHome(base);
    const own = home && (await readAddresses(home, 0));
    return own ? [own.url, own.readerUrl].some(each => new URL(each).password === new URL(url).password) : false;
  });
}

/** The addresses of the running server after a successful connection, undefined if none runs. Waits while it starts or stops. */
async function attach(home: string, log: Log): Promise<Addresses | undefined> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const server = await findPostmaster(home);
    if (!server) return undefined;
    const addresses = server.ready ? await tryConnect(home, server.port, log) : undefined;
    if (addresses) return addresses;
    if (Date.now() > deadline) throw await startError(home);
    await delay(100);
  }
}

/** Connects, after setting up roles and database if they are absent or were changed. Undefined while the server starts or stops. */
async function tryConnect(home: string, port: number, log: Log): Promise<Addresses | undefined> {
  try {
    const roles = await checkRoles(home, port);
    if (roles !== 'intact') {
      await refuseForeign(home);
      if (roles === 'changed') log.warn({ home }, `restoring the password, settings and grants of the login ${READER}`);
      await setUpRoles(home, port);
    }
    return await readAddresses(home, port);
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    const code = codeOf(error);
    // 57P03, 57P01: starting or stopping; a server that has just exited refuses or resets the connection.
    if (code === '57P03' || code === '57P01' || code === 'ECONNREFUSED' || code === 'ECONNRESET') return undefined;
    throw new SluiceError(
      'database',
      `The embedded Postgres on port ${port} runs, but rejects connections (${code || 'no answer'}).`,
      { next: `See ${serverLog(home)}, or stop it with "sluice stop-db".`, cause: error },
    );
  }
}

/** Absent on a new server. */
async function checkRoles(home: string, port: number): Promise<'intact' | 'changed' | 'absent'> {
  const addresses = await readAddresses(home, port);
  if (!addresses) return 'absent';
  try {
    return (await areRolesIntact(addresses)) ? 'intact' : 'changed';
  } catch (error) {
    // The database or its owner does not exist yet.
    if (codeOf(error) === '3D000' || codeOf(error) === '28P01') return 'absent';
    throw error;
  }
}

/** Passwords that root wrote into another user's home would lock that user out. */
async function refuseForeign(home: string): Promise<void> {
  const known = await statLink(passwordFile(home));
  if (known === undefined || known.uid === process.getuid?.()) return;
  throw belongsToOther(home, known.uid, 'Run "sluice status" once as that user, which sets it up again.');
}

const NO_PERMISSION = 'this user has no permission to use it';
const UNUSABLE: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exhausted',
  EROFS: 'the file system is read-only',
  EACCES: NO_PERMISSION,
  EPERM: NO_PERMISSION,
  ENOTDIR: 'a part of that path is not a folder',
};

/** Turns file system errors of `work` into the kind `database`, with the path and the next step. `base`: the data folder in full. */
async function explainFileErrors<T>(dataDir: string, work: (base: string) => Promise<T>): Promise<T> {
  const base = resolve(dataDir);
  try {
    return await work(base);
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    const code = codeOf(error);
    const reason = UNUSABLE[code];
    if (!reason) throw error;
    const isFull = code === 'ENOSPC' || code === 'EDQUOT';
    const path = isFull ? base : ((error as NodeJS.ErrnoException).path ?? base);
    throw new SluiceError('database', `The embedded Postgres needs ${path}, but ${reason}.`, {
      next: isFull
        ? FREE_SPACE
        : 'Set SLUICE_DATA_DIR to a writable folder, run Sluice as the user who first started it, or set DATABASE_URL.',
      cause: error,
    });
  }
}
