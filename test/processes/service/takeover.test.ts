import { createServer } from 'node:net';
import { expect, test, vi } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { embeddedStatus } from '../../../src/embedded-postgres/embedded-server.ts';
import { begin, KEY, until, useBuild, withInstallation } from '../../cli/run-command.ts';
import { differences } from '../../support/compare.ts';
import { long } from '../../support/long.ts';
import { openWarehouse, withDataDir } from '../own-server.ts';
import { doneSlots, openRuns, RARELY, SOURCE, sessions } from './service-state.ts';

useBuild();
vi.setConfig({ testTimeout: 240_000 });

test('two services record and read each slot once; when the one that reads is killed, the other takes over within a minute', async () => {
  await withInstallation({ ...SOURCE, latencyMs: 60 }, async ({ sandbox, database, env }) => {
    const first = begin(['start'], { env: { ...env, ...RARELY } });
    await until(() => sandbox.stats.total >= 3);
    const second = begin(['start'], { env: { ...env, ...RARELY } });
    await until(() => second.stderr().includes('sluice is running'));
    // The second tries to read, finds the lock taken, and leaves.
    await until(async () => (await sessions(database, 'sluice reads main')) === 1);
    first.child.kill('SIGKILL');
    await first.ended;
    expect(await doneSlots(database)).toBeLessThan(3);

    await until(async () => (await doneSlots(database)) === 3);
    const { rows } = await database.query(
      `select count(*)::int as slots, count(distinct (resource, slot_at))::int as ticks, count(run_id)::int as taken,
        count(distinct resource)::int as resources from sluice.slots`,
    );
    const [{ slots } = { slots: 0 }] = rows as { slots: number }[];
    expect(rows).toEqual([{ slots, ticks: slots, taken: slots, resources: 3 }]);
    expect(await differences(database, sandbox)).toEqual([]);

    second.child.kill('SIGTERM');
    expect((await second.ended).code).toBe(0);
    expect(await openRuns(database)).toEqual([]);
  });
});

long('a service continues, and is woken again, after all of its database connections are terminated', async () => {
  await withInstallation({ size: 'small' }, async ({ database, env, sluice }) => {
    const service = begin(['start'], { env: { ...env, ...RARELY } });
    await until(async () => (await doneSlots(database)) === 3);
    await database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name like 'sluice %'`,
    );
    const { order } = (await sluice('backfill', 'customers', '--detach', '--json')).json();
    await until(async () => {
      const { rows } = await database.query<{ state: string }>('select state from sluice.orders where id = $1', [
        order,
      ]);
      return rows[0]?.state === 'done';
    });
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
  });
});

long('a service restarts its embedded Postgres server after a crash and continues', async () => {
  const sandbox = await openSandbox({ ...SOURCE, apiKey: KEY, rateLimit: 0 });
  await withDataDir(async dataDir => {
    const env = { SOURCE_URL: sandbox.url, SOURCE_API_KEY: KEY, SLUICE_DATA_DIR: dataDir, SOURCE_RATE_LIMIT: '100000' };
    const service = begin(['start'], { env: { ...env, ...RARELY } });
    await until(() => sandbox.stats.total >= 15);
    const { pid } = await embeddedStatus(dataDir);
    // What `pg_ctl stop -m immediate` sends: without a checkpoint.
    process.kill(pid as number, 'SIGQUIT');
    await until(async () => {
      const { state, pid: next } = await embeddedStatus(dataDir);
      return state === 'running' && next !== pid;
    });
    const { database, close } = await openWarehouse(dataDir);
    await until(async () => (await doneSlots(database)) === 3);
    expect(await differences(database, sandbox)).toEqual([]);
    await close();
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
  });
  await sandbox.close();
});

long('a service ends with an error if its embedded Postgres server comes back on another port', async () => {
  const sandbox = await openSandbox({ size: 'small', apiKey: KEY, rateLimit: 0 });
  await withDataDir(async dataDir => {
    const env = { SOURCE_URL: sandbox.url, SOURCE_API_KEY: KEY, SLUICE_DATA_DIR: dataDir, ...RARELY };
    const service = begin(['start'], { env });
    await until(() => service.stderr().includes('sluice is running'));
    const { pid, port } = await embeddedStatus(dataDir);
    process.kill(pid as number, 'SIGQUIT');
    await until(async () => (await embeddedStatus(dataDir)).state === 'stopped');
    const other = createServer(socket => socket.destroy()).listen(port, '127.0.0.1');
    const { code, stderr } = await service.ended;
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/embedded Postgres now listens on port \d+, no longer on \d+\.\n.*sluice start/),
    ]);
    await new Promise(resolve => other.close(resolve));
  });
  await sandbox.close();
});

long('a command that is reading also serves the schedule of a service that starts meanwhile', async () => {
  const size = { customers: 40, invoices: 40, transactions: 2000 };
  await withInstallation({ ...SOURCE, size, latencyMs: 250 }, async ({ sandbox, database, env }) => {
    const small = { SOURCE_PAGE_SIZE: '20', SOURCE_CONCURRENCY: '1' };
    // A hundred answers take half a minute; the command looks for a service every ten seconds.
    const sync = begin(['sync', 'transactions'], { env: { ...env, ...small } });
    await until(() => sandbox.stats.total > 3);
    const service = begin(['start'], { env: { ...env, ...RARELY } });
    const slots = `select count(*)::int as n from sluice.runs where kind = 'slot'`;
    await until(async () => (await database.query<{ n: number }>(slots)).rows[0]?.n === 3);
    expect(sync.child.exitCode).toBe(null);
    sync.child.kill('SIGINT');
    await sync.ended;
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
  });
});

long('a detached backfill pauses within a page, continues at once when resumed, and yields to live slots', async () => {
  await withInstallation({ ...SOURCE, latencyMs: 60 }, async ({ sandbox, database, env, sluice }) => {
    const small = { SOURCE_PAGE_SIZE: '50', SOURCE_CONCURRENCY: '1' };
    const service = begin(['start'], { env: { ...env, ...RARELY, ...small } });
    await until(async () => (await doneSlots(database)) === 3);
    const first = (await sluice('backfill', 'transactions', '--detach', '--json')).json();
    const second = (await sluice('backfill', 'invoices', '--from', '2026-01-01', '--detach', '--json')).json();
    expect([first.service, second.service]).toEqual([true, true]);
    const spent = async () => {
      const { rows } = await database.query<{ requests: number }>(
        'select requests::int as requests from sluice.orders where id = $1',
        [first.order],
      );
      return rows[0]?.requests ?? 0;
    };
    await until(async () => (await spent()) > 3);
    await database.query(`update sluice.orders set state = 'paused' where id = $1`, [first.order]);
    const asked = sandbox.stats.total;
    const running = `select count(*)::int as n from sluice.runs where order_id = $1 and ended_at is null`;
    await until(async () => (await database.query<{ n: number }>(running, [first.order])).rows[0]?.n === 0);
    expect(sandbox.stats.total - asked).toBeLessThanOrEqual(4);

    const list = (await sluice('backfill', 'list', '--json')).json().backfills;
    expect(list).toContainEqual(expect.objectContaining({ id: first.order, state: 'paused', left: null }));
    expect((await sluice('backfill', 'resume', String(first.order))).code).toBe(0);
    await until(async () => {
      const { rows } = await database.query("select from sluice.orders where kind = 'backfill' and state <> 'done'");
      return rows.length === 0;
    });
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
    expect(await differences(database, sandbox)).toEqual([]);
  });
});
