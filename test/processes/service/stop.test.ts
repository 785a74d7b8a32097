import { expect, test, vi } from 'vitest';
import { begin, KEY, until, useBuild, withInstallation } from '../../cli/run-command.ts';
import { differences } from '../../support/compare.ts';
import { createTestDatabase } from '../../support/database.ts';
import { long } from '../../support/long.ts';
import { doneSlots, openRuns, RARELY, SOURCE, sessions, waitingRuns } from './service-state.ts';

useBuild();
vi.setConfig({ testTimeout: 240_000 });

test('SIGTERM finishes work in progress and leaves the rest to the next start, which continues at once', async () => {
  await withInstallation(SOURCE, async ({ sandbox, database, env }) => {
    const service = begin(['start'], { env: { ...env, ...RARELY } });
    await until(() => sandbox.stats.total >= 15);
    service.child.kill('SIGTERM');
    const { code, stderr } = await service.ended;
    expect([code, stderr]).toEqual([0, expect.stringContaining('sluice has stopped')]);
    expect(await openRuns(database)).toEqual([]);
    // No answer was thrown away: every answered request was committed.
    const { rows } = await database.query(
      `select (select count(*)::int from sluice.requests) as asked, (select sum(requests)::int from sluice.runs) as used`,
    );
    const { asked, used } = rows[0] as { asked: number; used: number };
    expect(asked - used).toBeLessThanOrEqual(0);

    const next = begin(['start'], { env: { ...env, ...RARELY } });
    await until(async () => (await doneSlots(database)) === 3);
    expect(await differences(database, sandbox)).toEqual([]);
    next.child.kill('SIGTERM');
    expect((await next.ended).code).toBe(0);
  });
});

test('SIGTERM ends a service that waits for another process to migrate, with exit code 0', async () => {
  const empty = await createTestDatabase({ empty: true });
  const other = await empty.open();
  const migrating = await other.connect('another process');
  await migrating.query("select pg_advisory_lock(hashtextextended('sluice migrate', 0))");
  const env = { DATABASE_URL: empty.url, SOURCE_URL: 'http://127.0.0.1:9', SOURCE_API_KEY: KEY };
  const service = begin(['start'], { env });
  await until(() => service.stderr().includes('Another process is migrating the database at '));
  service.child.kill('SIGTERM');
  const { code, stderr } = await service.ended;
  expect([code, stderr]).toEqual([0, expect.stringContaining('sluice has stopped before its tables were migrated')]);
  await migrating.end();
  await other.close();
  await empty.drop();
});

test('a second SIGTERM stops the work that the first lets finish', async () => {
  await withInstallation(SOURCE, async ({ sandbox, database, env }) => {
    const patient = { SOURCE_TIMEOUT_SECONDS: '600', SLUICE_DRAIN_SECONDS: '3600' };
    sandbox.failNext('hang', 1, 'transactions');
    const service = begin(['start'], { env: { ...env, ...RARELY, ...patient } });
    await until(async () => (await doneSlots(database)) === 2);
    service.child.kill('SIGTERM');
    await until(() => service.stderr().includes('work in progress is finished first'));
    expect(service.child.exitCode).toBe(null);
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
    expect(await openRuns(database)).toEqual([]);
  });
});

long(
  'at the request limit runs wait until a named time, release the source, and continue in another process',
  async () => {
    await withInstallation(SOURCE, async ({ sandbox, database, env, sluice }) => {
      const limits = { SOURCE_RATE_LIMIT: '20', SOURCE_RATE_WINDOW_SECONDS: '3600' };
      const service = begin(['start'], { env: { ...env, ...RARELY, ...limits } });
      await until(
        async () => (await waitingRuns(database)) > 0 && (await sessions(database, 'sluice reads main')) === 0,
      );
      expect(sandbox.stats.total).toBe(20);
      const status = await sluice('status');
      expect(status.stdout).toMatch(
        /^(invoices|transactions) +slot +waiting for the request limit until (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d /m,
      );
      service.child.kill('SIGTERM');
      expect((await service.ended).code).toBe(0);
      expect(await waitingRuns(database)).toBeGreaterThan(0);

      // As if an hour had passed.
      await database.query('truncate sluice.requests, sluice.budgets');
      await database.query('update sluice.runs set waiting_until = sluice.now() where waiting_until is not null');
      const next = begin(['start'], { env: { ...env, ...RARELY } });
      await until(async () => (await doneSlots(database)) === 3);
      expect(await differences(database, sandbox)).toEqual([]);
      // The same runs continue, with the rows and requests they had.
      const { rows } = await database.query("select count(*)::int as runs from sluice.runs where kind = 'slot'");
      expect(rows).toEqual([{ runs: 3 }]);
      next.child.kill('SIGTERM');
      await next.ended;
    });
  },
);
