import { appendFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MINUTE, SECOND } from '../clock.ts';
import { SluiceError } from '../errors.ts';
import type { Binaries } from './binaries.ts';
import { startError } from './errors.ts';
import { giveTo } from './files.ts';
import { dataOf } from './home.ts';
import { disarmPidFile } from './pid.ts';
import { choosePort, HOST, isFree } from './port.ts';
import { runBinary, type ServerUser } from './run.ts';

export const START_TIMEOUT_MS = 2 * MINUTE;

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

export async function start(
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

async function openServerLog(home: string, user: ServerUser): Promise<{ path: string; size: number }> {
  const path = join(home, 'server.log');
  const before = await stat(path).catch(() => undefined);
  if (before && before.size > 10 * 1024 * 1024) await rename(path, `${path}.1`);
  await appendFile(path, '', { mode: 0o600 });
  await giveTo(path, user);
  return { path, size: (await stat(path)).size };
}

/** pg_ctl starts the server through a shell, and quotes nothing but blanks. */
export function refuseShellCharacters(home: string, binaries: Binaries): void {
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
