import { readFile } from 'node:fs/promises';
import { openSandbox, type Sandbox, type SandboxOptions } from '../../sandbox/sandbox.ts';
import { embeddedStatus } from '../../src/embedded-postgres/embedded-server.ts';
import { serverLog } from '../../src/embedded-postgres/home-files.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { KEY } from '../cli/run-command.ts';
import { withDataDir } from './own-server.ts';

export const CONCURRENCY = 4;

export interface Killable {
  readonly sandbox: Sandbox;
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A source, and the settings to read it into an embedded server of its own, whose process can be killed. */
export async function withKillable(
  options: Pick<SandboxOptions, 'size' | 'seed' | 'latencyMs'>,
  fn: (given: Killable) => Promise<void>,
): Promise<void> {
  const sandbox = await openSandbox({ ...options, apiKey: KEY, rateLimit: 0, today: '2026-03-15' });
  try {
    await withDataDir(async dataDir => {
      const env = {
        SOURCE_URL: sandbox.url,
        SOURCE_API_KEY: KEY,
        SOURCE_CONCURRENCY: String(CONCURRENCY),
        SOURCE_RATE_LIMIT: '100000',
        // Rows come and go within seconds, and the sandbox answers with its latest state.
        SOURCE_LAG_SECONDS: '0',
        SLUICE_DATA_DIR: dataDir,
      };
      await fn({ sandbox, dataDir, env }).catch(async (error: Error) => {
        // What went wrong at one moment may not come again.
        error.message += `\nThe server's log:\n${await endOfServerLog(dataDir)}`;
        throw error;
      });
    });
  } finally {
    await sandbox.close();
  }
}

async function endOfServerLog(dataDir: string): Promise<string> {
  const { home } = await embeddedStatus(dataDir);
  const text = await readFile(serverLog(home), 'utf8').catch(String);
  return text.split('\n').slice(-40).join('\n');
}

/** False if it did not run. */
export async function killPostgres(dataDir: string): Promise<boolean> {
  const { pid } = await embeddedStatus(dataDir);
  if (pid === undefined) return false;
  process.kill(pid, 'SIGKILL');
  return true;
}

/** What should have ended, and what is still open to doubt. */
export async function unended(database: Database): Promise<unknown> {
  const { rows } = await database.query(
    `select (select count(*)::int from sluice.runs where ended_at is null) as runs,
      (select count(*)::int from sluice.orders where ended_at is null) as orders,
      (select count(*)::int from sluice.missing) as missing,
      (select count(*)::int from sluice.quarantine) as quarantine`,
  );
  return rows[0];
}
export const NOTHING_UNENDED = { runs: 0, orders: 0, missing: 0, quarantine: 0 };
