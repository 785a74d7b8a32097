import { createServer } from 'node:net';
import { expect, test, vi } from 'vitest';
import { openSandbox, type SandboxOptions } from '../../sandbox/sandbox.ts';
import { embeddedStatus } from '../../src/embedded-postgres/embedded-server.ts';
import { begin, type Ended, KEY, run, until, useBuild, withInstallation } from '../cli/run-command.ts';
import { differences } from '../support/compare.ts';
import { long } from '../support/long.ts';
import { MAIN } from '../support/resources.ts';
import { fillDisk } from './full-disk.ts';
import { openWarehouse, withDataDir } from './own-server.ts';

useBuild();
vi.setConfig({ testTimeout: 180_000 });

const SOURCE: SandboxOptions = {
  size: { customers: 400, invoices: 2000, transactions: 2000 },
  latencyMs: 20,
  apiKey: KEY,
  rateLimit: 0,
  today: '2026-03-15',
};

/** Exit code 1 and one document, whose error has this kind and a next step. */
function expectError(ended: Ended, kind: string, message: RegExp): void {
  expect([ended.code, ended.stderr]).toEqual([1, expect.not.stringContaining('bug in Sluice')]);
  expect(ended.json().error).toEqual({ kind, message: expect.stringMatching(message), next: expect.any(String) });
}

test('an unreachable database is reported before any request is sent to the source', async () => {
  const sandbox = await openSandbox(SOURCE);
  const port = await freePort();
  const env = {
    SOURCE_URL: sandbox.url,
    SOURCE_API_KEY: KEY,
    DATABASE_URL: `postgres://sluice:pass-5e1f@127.0.0.1:${port}/warehouse`,
  };
  expectError(await run(['sync', ...MAIN, '--json'], { env }), 'database', /connection refused/);
  expect(sandbox.stats.total).toBe(0);
  await sandbox.close();
});

test('database connections terminated by an administrator during a run end it, and the same command continues', async () => {
  await withInstallation(SOURCE, async ({ sandbox, database, env, sluice }) => {
    for (const requests of [2, 12, 14]) {
      const sync = begin(['sync', ...MAIN, '--json'], { env });
      const at = sandbox.stats.total + requests;
      await until(() => sandbox.stats.total >= at);
      const { rowCount } = await database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name like 'sluice %'`,
      );
      expect(rowCount).toBeGreaterThan(0);
      expectError(await sync.ended, 'database', /ended by an administrator|dropped/);
    }
    const last = await sluice('sync', ...MAIN, '--json');
    expect([last.code, last.stderr]).toEqual([0, expect.any(String)]);
    expect(await differences(database, sandbox)).toEqual([]);
    const { rows } = await database.query('select count(*)::int as open from sluice.runs where ended_at is null');
    expect(rows).toEqual([{ open: 0 }]);
  });
});

long(
  'losing only the session that holds the source lock ends the run too: another process may be reading',
  async () => {
    await withInstallation(SOURCE, async ({ sandbox, database, env, sluice }) => {
      const sync = begin(['sync', ...MAIN, '--json'], { env });
      await until(() => sandbox.stats.total >= 12);
      await database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name like 'sluice reads %'`,
      );
      expectError(await sync.ended, 'database', /held the lock of source/);
      expect((await sluice('sync', ...MAIN)).code).toBe(0);
      expect(await differences(database, sandbox)).toEqual([]);
    });
  },
);

long(
  'a crash of the embedded Postgres server ends the run, and the same command restarts it and continues',
  async () => {
    const sandbox = await openSandbox(SOURCE);
    await withDataDir(async dataDir => {
      const env = { SOURCE_URL: sandbox.url, SOURCE_API_KEY: KEY, SLUICE_DATA_DIR: dataDir };
      for (const requests of [10, 20]) {
        const sync = begin(['sync', ...MAIN, '--json'], { env });
        const at = sandbox.stats.total + requests;
        await until(() => sandbox.stats.total >= at);
        const { pid } = await embeddedStatus(dataDir);
        // What `pg_ctl stop -m immediate` sends: without a checkpoint.
        process.kill(pid as number, 'SIGQUIT');
        expectError(await sync.ended, 'database', /./);
      }
      const last = await run(['sync', ...MAIN, '--json'], { env });
      expect([last.code, last.stderr]).toEqual([0, expect.any(String)]);
      const { database, close } = await openWarehouse(dataDir);
      expect(await differences(database, sandbox)).toEqual([]);
      await close();
    });
    await sandbox.close();
  },
);

long(
  'a full disk of the Postgres server ends the run, and the same command continues once there is space',
  async () => {
    const sandbox = await openSandbox({ ...SOURCE, latencyMs: 0 });
    await withDataDir(async dataDir => {
      const env = { SOURCE_URL: sandbox.url, SOURCE_API_KEY: KEY, SLUICE_DATA_DIR: dataDir };
      expect((await run(['migrate'], { env })).code).toBe(0);
      const free = await fillDisk(dataDir, 'warehouse.invoice_items');
      expectError(await run(['sync', ...MAIN, '--json'], { env }), 'database', /disk is full/);
      const { database: full, close: closeFull } = await openWarehouse(dataDir);
      const { rows } = await full.query('select count(*)::int as runs from sluice.runs where ended_at is null');
      expect(rows).toEqual([{ runs: 0 }]);
      await closeFull();

      await free();
      const last = await run(['sync', ...MAIN, '--json'], { env });
      expect([last.code, last.stderr]).toEqual([0, expect.any(String)]);
      const { database, close } = await openWarehouse(dataDir);
      expect(await differences(database, sandbox)).toEqual([]);
      await close();
    });
    await sandbox.close();
  },
);

function freePort(): Promise<number> {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
