import { createServer } from 'node:net';
import { expect, test, vi } from 'vitest';
import { openSandbox, type SandboxOptions } from '../../sandbox/sandbox.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { begin, type Ended, KEY, run, until, useBuild, withInstallation } from '../cli/run-command.ts';
import { differences } from '../support/compare.ts';
import { withDatabase } from '../support/database.ts';
import { long } from '../support/long.ts';
import { MAIN } from '../support/resources.ts';

useBuild();
vi.setConfig({ testTimeout: 180_000 });

const SOURCE: SandboxOptions = {
  size: { customers: 400, invoices: 2000, transactions: 2000 },
  latencyMs: 20,
  apiKey: KEY,
  rateLimit: 0,
  today: '2026-03-15',
};

/** Where nothing is interrupted. */
const SMALL = { customers: 40, invoices: 60, transactions: 60 };

test('a wrong key is reported at the first request and writes nothing; the right one continues', async () => {
  await withInstallation({ ...SOURCE, size: SMALL, apiKey: 'another' }, async ({ sandbox, database, env, sluice }) => {
    const refused = await sluice('sync');
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(reportsOnce(refused, /Check SOURCE_API_KEY/)).toBe(true);
    // At most the requests in flight at the first refusal.
    expect(sandbox.stats.total).toBeLessThanOrEqual(4);
    expect(await rowCount(database)).toBe(0);
    const right = await run(['sync', ...MAIN], { env: { ...env, SOURCE_API_KEY: 'another' } });
    expect([right.code, await differences(database, sandbox)]).toEqual([0, []]);
  });
});

test('a key revoked during a run stops it, and the same command continues with a new key', async () => {
  await withDatabase(async (database, own) => {
    const first = await openSandbox(SOURCE);
    const env = { SOURCE_URL: first.url, SOURCE_API_KEY: KEY, DATABASE_URL: own.url, SOURCE_RATE_LIMIT: '100000' };
    const sync = begin(['sync', ...MAIN, '--json'], { env });
    await until(() => first.stats.total >= 12);
    await first.close();
    const second = await openSandbox({ ...SOURCE, port: first.port, apiKey: 'new-key' });
    const ended = await sync.ended;
    expect([ended.code, ended.json().error.kind]).toEqual([1, 'unauthorized']);
    const again = await run(['sync', ...MAIN, '--json'], { env: { ...env, SOURCE_API_KEY: 'new-key' } });
    expect([again.code, await differences(database, second)]).toEqual([0, []]);
    await second.close();
  });
});

long.concurrent('an unreachable source is reported after its retries, and nothing is left half-done', async () => {
  await withDatabase(async (database, own) => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const env = { SOURCE_URL: url, SOURCE_API_KEY: KEY, DATABASE_URL: own.url, SOURCE_RATE_LIMIT: '100000' };
    const ended = await run(['sync', ...MAIN], { env });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(`nothing answers at ${url}; next attempt at`);
    expect(ended.stderr).toContain(`failed 6 times: nothing answers at ${url}`);
    expect(ended.stderr).not.toContain('bug in Sluice');
    expect(await rowCount(database)).toBe(0);
    const sandbox = await openSandbox({ ...SOURCE, size: SMALL, port });
    expect((await run(['sync', ...MAIN], { env })).code).toBe(0);
    expect(await differences(database, sandbox)).toEqual([]);
    await sandbox.close();
  });
});

long.concurrent(
  'a source that dies during a run is reported after its retries, and the same command continues when it is back',
  async () => {
    await withDatabase(async (database, own) => {
      const first = await openSandbox(SOURCE);
      const env = { SOURCE_URL: first.url, SOURCE_API_KEY: KEY, DATABASE_URL: own.url, SOURCE_RATE_LIMIT: '100000' };
      const sync = begin(['sync', ...MAIN], { env });
      await until(() => first.stats.total >= 30);
      await first.close();
      const ended = await sync.ended;
      expect(ended.code).toBe(1);
      expect(ended.stderr).toContain(`nothing answers at ${first.url}`);
      expect(ended.stderr).not.toContain('bug in Sluice');
      expect(await rowCount(database)).toBeGreaterThan(0);

      const second = await openSandbox({ ...SOURCE, port: first.port });
      const again = await run(['sync', ...MAIN], { env });
      expect([again.code, again.stderr]).toEqual([0, expect.any(String)]);
      expect(await differences(database, second)).toEqual([]);
      await second.close();
    });
  },
);

long.concurrent('a list that could not be compared is reported neither as equal nor as different', async () => {
  await withInstallation({ ...SOURCE, size: SMALL }, async ({ sandbox, sluice, sync }) => {
    await sync('customers', 'invoices');
    sandbox.failNext('json-500', 1000, 'customers');
    const { code, stdout, stderr } = await sluice('verify', 'customers', 'invoices');
    expect([code, stderr]).toEqual([1, expect.stringContaining('customers failed: ')]);
    expect(stdout).toMatch(/^customers +\? +\? +\? .*\ninvoices +0 +0 +0 /m);
    expect(stdout).toMatch(/^The comparison is incomplete, /m);
    expect(stdout).not.toContain('The warehouse equals the source.');
  });
});

test('the key is not sent over plain http to another machine', async () => {
  for (const url of ['http://books.example.com', 'http://192.0.2.1:8080', 'http://127.0.0.1.example.com']) {
    const ended = await run(['sync'], { env: { SOURCE_URL: url, SOURCE_API_KEY: KEY } });
    expect([ended.code, ended.stdout]).toEqual([2, '']);
    expect(reportsOnce(ended, /SOURCE_URL.*https/)).toBe(true);
  }
});

/** Exactly one line on stderr matches, and none reports a bug. */
function reportsOnce({ stderr }: Ended, message: RegExp): boolean {
  const lines = stderr.split('\n').filter(line => message.test(line));
  if (lines.length !== 1 || stderr.includes('bug in Sluice')) throw new Error(stderr);
  return true;
}

async function rowCount(database: Database): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    `select ((select count(*) from warehouse.customers) + (select count(*) from warehouse.invoices)
      + (select count(*) from warehouse.transactions))::int as n`,
  );
  return rows[0]?.n as number;
}

function freePort(): Promise<number> {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
