/**
 * The default warehouse: a real Postgres server beside the project, which every process of ours shares. It is started by
 * the first that needs it, survives them all, and stops with `sluice stop-db`.
 *
 * Everything lives in one folder, the *home*: `data/` (the cluster), `password`, `port`, `server.log`. The home is
 * `SLUICE_DATA_DIR/postgres`, unless root runs us from a place its unprivileged server could not enter (a clone under /root,
 * mode 0700): then it is `/var/lib/sluice/<hash of the data dir>`, and `SLUICE_DATA_DIR/postgres.location` says so. Not a
 * temporary folder, which a restart would empty; not a looser mode on the parents, which are not ours to open.
 */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import { attach } from './attach.ts';
import { prepareBinaries, removeOldCopies } from './binaries.ts';
import { explainFileErrors, startError } from './errors.ts';
import { present } from './files.ts';
import { dataOf, locate, ownerOf, settle } from './home.ts';
import { initialise } from './initdb.ts';
import { withStartLock } from './lock.ts';
import { isPostmaster, readPidFile } from './pid.ts';
import { runBinary } from './run.ts';
import { refuseShellCharacters, start } from './start.ts';

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
