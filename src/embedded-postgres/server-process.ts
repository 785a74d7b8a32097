import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MINUTE, SECOND } from '../clock.ts';
import { SluiceError } from '../errors.ts';
import type { Binaries } from './binaries.ts';
import { dataFolder, serverLog } from './home-files.ts';
import { replaceFile } from './ownership/replace-file.ts';
import { choosePort, HOST, isFree } from './port.ts';
import { disarmPidFile, readPidFile } from './postmaster-pid.ts';
import { runProgram } from './run-program.ts';
import { startError } from './server-errors.ts';
import { openServerLog } from './server-log.ts';
import type { ServerUser } from './server-user.ts';

export const START_TIMEOUT_MS = 2 * MINUTE;

export type PostgresSettings = Readonly<Record<string, string>>;

/** For one machine with little memory, and for data that the source can provide again. */
const SETTINGS: PostgresSettings = {
  listen_addresses: `'${HOST}'`,
  unix_socket_directories: "''",
  max_connections: '50',
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

/** Starts the server on a free port; it outlives this process. `overrides` take precedence over the settings above. */
export async function startServer(
  home: string,
  { pgCtl }: Binaries,
  user: ServerUser,
  overrides: PostgresSettings,
): Promise<void> {
  const hasCrashed = await disarmPidFile(home, user);
  // The children of a killed postmaster may hold its shared memory for a moment.
  const deadline = Date.now() + (hasCrashed ? 20 * SECOND : 0);
  const log = await openServerLog(home, user);
  for (let attempt = 1; ; attempt++) {
    const port = await choosePort(home);
    await writeSettings(home, user, { ...SETTINGS, port: String(port), ...overrides });
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
export async function stopServer(home: string, { pgCtl }: Binaries, user: ServerUser, pid: number): Promise<void> {
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

async function writeSettings(home: string, user: ServerUser, settings: PostgresSettings): Promise<void> {
  const file = join(dataFolder(home), 'sluice.conf');
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
  await replaceFile(file, lines.join(''), user);
}

/** pg_ctl starts the server through a shell, and escapes only blanks. */
export function refuseShellCharacters(home: string, { pgCtl }: Binaries): void {
  const path = [home, pgCtl].find(path => process.platform !== 'win32' && /["$`\\\n]/.test(path));
  if (path === undefined) return;
  throw new SluiceError(
    'configuration',
    `The embedded Postgres cannot run in ${path}: the path contains $, ", \\, \` or a line break.`,
    { next: 'Set SLUICE_DATA_DIR to another folder, or set DATABASE_URL.' },
  );
}
