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
import { resolve } from 'node:path';
import type { Log } from '../log.ts';
import { attach } from './attach.ts';
import { prepareBinaries, removeOldCopies } from './binaries.ts';
import { defaultHome, findHome, prepareHome, serverUserOf } from './home.ts';
import { dataFolder, exists } from './home-files.ts';
import { ensureCluster } from './initdb.ts';
import { makeFolder } from './make-folder.ts';
import { tidyHome } from './ownership/own-home.ts';
import { findPostmaster, readPidFile } from './postmaster-pid.ts';
import type { Addresses } from './roles/addresses.ts';
import { explainFileErrors, startError } from './server-errors.ts';
import { limitServerLog } from './server-log.ts';
import { type PostgresSettings, refuseShellCharacters, startServer, stopServer } from './server-process.ts';
import { withStartLock } from './start-lock.ts';

export interface EmbeddedStatus {
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
  const { log, settings = {} } = options;
  const base = resolve(options.dataDir);
  return explainFileErrors(base, async () => {
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
      if (user) await tidyHome(home, user);
      const binaries = await prepareBinaries(home, user);
      refuseShellCharacters(home, binaries);
      await removeOldCopies(home, binaries, user);
      await ensureCluster(home, binaries, user, log);
      await startServer(home, binaries, user, settings);
      const opened = await attach(home, log);
      if (!opened) throw await startError(home);
      log.info({ home }, 'embedded Postgres started');
      return { ...opened, started: true };
    });
  });
}

/** Stops the server. False when none was running. */
export async function stopEmbedded(dataDir: string): Promise<boolean> {
  const base = resolve(dataDir);
  return explainFileErrors(base, async () => {
    const home = await findHome(base);
    if (!home || !(await readPidFile(home))) return false;
    return withStartLock(base, async () => {
      const server = await findPostmaster(home);
      if (!server) return false;
      const user = await serverUserOf(home);
      await stopServer(home, await prepareBinaries(home, user), user, server.pid);
      return true;
    });
  });
}

/** The state of the server, without starting it. */
export async function embeddedStatus(dataDir: string): Promise<EmbeddedStatus> {
  const base = resolve(dataDir);
  return explainFileErrors(base, async () => {
    const home = await findHome(base);
    if (!home || !(await exists(dataFolder(home)))) return { state: 'absent', home: home ?? defaultHome(base) };
    const server = await findPostmaster(home);
    if (!server) return { state: 'stopped', home };
    return { state: server.ready ? 'running' : 'starting', home, pid: server.pid, port: server.port };
  });
}
