import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { embeddedStatus } from '../../src/embedded-postgres/embedded-server.ts';
import { openSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { begin, KEY, run, until, useBuild, withInstallation } from '../cli/run-command.ts';
import { differences } from '../support/compare.ts';
import { createTestDatabase, withDatabase } from '../support/database.ts';
import { MAIN, scheduled } from '../support/resources.ts';
import { inSchema } from './in-schema.ts';
import { openWarehouse, withDataDir } from './own-server.ts';

useBuild();
vi.setConfig({ testTimeout: 240_000 });

/** The first start reads at once; the next schedule tick is months away. */
const RARELY = scheduled('0 0 1 1 *');
const SOURCE = { size: { customers: 300, invoices: 2000, transactions: 2000 }, latencyMs: 15, today: '2026-03-15' };

test('two services record and read each slot once; when the one that reads is killed, the other takes over within a minute', async () => {
  await withInstallation({ ...SOURCE, latencyMs: 60 }, async ({ sandbox, database, env }) => {
    const first = begin(['start'], { env: { ...env, ...RARELY } });
    await until(() => sandbox.stats.total >= 3);
    const second = begin(['start'], { env: { ...env, ...RARELY } });
    await until(async () => (await sessions(database, 'sluice start main')) > 4);
    expect(await sessions(database, 'sluice reads main')).toBe(1);
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

test('at the request limit runs wait until a named time, release the source, and continue in another process', async () => {
  await withInstallation(SOURCE, async ({ sandbox, database, env, sluice }) => {
    const limits = { SOURCE_RATE_LIMIT: '20', SOURCE_RATE_WINDOW_SECONDS: '3600' };
    const service = begin(['start'], { env: { ...env, ...RARELY, ...limits } });
    await until(async () => (await waitingRuns(database)) > 0 && (await sessions(database, 'sluice reads main')) === 0);
    expect(sandbox.stats.total).toBe(20);
    const status = await sluice('status');
    expect(status.stdout).toMatch(
      /^(invoices|transactions) +slot +waiting for quota until (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d /m,
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
});

test('with two sources, the wrong key of one does not affect the other', async () => {
  const vienna = await openSandbox({ ...SOURCE, apiKey: 'key-vienna', rateLimit: 0 });
  const graz = await openSandbox({ ...SOURCE, seed: 2, apiKey: 'key-graz', rateLimit: 0 });
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-sources-'));
  const write = (name: string, url: string) => ({ name, url, api_key_from: `${name.toUpperCase()}_KEY` });
  writeFileSync(
    join(cwd, 'sources.json'),
    JSON.stringify([
      { ...write('vienna', vienna.url), rate_limit: 100_000, schedules: { transactions: 'off' } },
      { ...write('graz', graz.url), schema: 'graz_books' },
    ]),
  );
  await withDatabase(async (database, { url }) => {
    const env = { DATABASE_URL: url, VIENNA_KEY: 'key-vienna', GRAZ_KEY: 'wrong' };
    const service = begin(['start'], { env: { ...env, ...RARELY }, cwd });
    await until(async () => (await doneSlots(database)) === 2);
    const failed = `select count(*)::int as n from sluice.runs where source = 'graz' and state = 'failed'`;
    await until(async () => (await database.query<{ n: number }>(failed)).rows[0]?.n !== 0);
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
    const { rows } = await database.query<{ slot: string }>(
      "select distinct source || ' ' || resource as slot from sluice.slots order by 1",
    );
    expect(rows.map(row => row.slot)).toEqual([
      'graz customers',
      'graz invoices',
      'graz transactions',
      'vienna customers',
      'vienna invoices',
    ]);
    const off = await differences(inSchema(database, 'vienna'), vienna, Number.POSITIVE_INFINITY);
    expect(off.filter(text => !text.startsWith('transactions'))).toEqual([]);

    const sync = await run(['sync', ...MAIN, '--json'], { env, cwd });
    expect(sync.code).toBe(1);
    expect(sync.json().error).toMatchObject({ kind: 'unauthorized', message: expect.stringMatching(/^graz: /) });
    expect(sync.json().resources).toMatchObject([
      { source: 'vienna', resource: 'customers', state: 'done' },
      { source: 'vienna', resource: 'invoices', state: 'done' },
      { source: 'vienna', resource: 'transactions', state: 'done' },
    ]);
    expect(await differences(inSchema(database, 'vienna'), vienna)).toEqual([]);

    const right = { ...env, GRAZ_KEY: 'key-graz' };
    const own = { DATABASE_URL: url, GRAZ_KEY: 'key-graz' };
    expect((await run(['sync', '--source', 'graz'], { env: own, cwd })).code).toBe(0);
    expect(await differences(inSchema(database, 'graz_books'), graz)).toEqual([]);
    const status = (await run(['status', '--json'], { env: right, cwd })).json();
    expect(status.sources).toMatchObject([{ source: 'vienna' }, { source: 'graz', schema: 'graz_books' }]);

    const which = await run(['backfill', 'invoices', '--detach'], { env: right, cwd });
    expect([which.code, which.stderr]).toEqual([
      2,
      'This command works on one source, and there are several.\nName one with --source: vienna, graz.\n',
    ]);
    const none = await run(['status', '--source', 'linz'], { env: right, cwd });
    expect([none.code, none.stderr]).toEqual([2, 'Unknown source "linz".\nSources: vienna, graz.\n']);
  });
  await vienna.close();
  await graz.close();
  rmSync(cwd, { recursive: true });
});

test('another installation is not read into the same tables, unless --moved says that only the address changed', async () => {
  await withInstallation({}, async ({ sandbox, database, env, sluice }) => {
    expect((await sluice('sync', 'customers')).code).toBe(0);
    const other = await openSandbox({ size: 'small', apiKey: sandbox.apiKey, rateLimit: 0 });
    const moved = { ...env, SOURCE_URL: other.url };
    const refused = await run(['sync', '--json'], { env: moved });
    expect(refused.code).toBe(2);
    expect(refused.json().error).toMatchObject({
      kind: 'configuration',
      message: expect.stringContaining(`was read from ${new URL(sandbox.url).host} so far`),
    });
    expect((await run(['start'], { env: moved })).code).toBe(2);
    expect(other.stats.total).toBe(0);
    expect((await run(['sync', 'customers', '--moved'], { env: moved })).code).toBe(0);
    expect((await run(['reset', 'customers', '--yes'], { env: moved })).code).toBe(0);
    const { rows } = await database.query('select source from sluice.sources');
    expect(rows).toEqual([]);
    await other.close();
  });
});

test('only the source that owns a schema reads or resets its rows', async () => {
  await withInstallation({}, async ({ sandbox, database, env, sluice }) => {
    expect((await sluice('sync', 'customers')).code).toBe(0);
    const other = await openSandbox({ size: 'small', seed: 2, apiKey: KEY, rateLimit: 0 });
    const cwd = mkdtempSync(join(tmpdir(), 'sluice-schema-'));
    const beside = (source: Record<string, string>, ...args: string[]) => {
      const described = { url: other.url, api_key_from: 'SOURCE_API_KEY', ...source };
      writeFileSync(join(cwd, 'sources.json'), JSON.stringify([described]));
      return run([...args, '--json'], { env, cwd });
    };
    const linz = { name: 'linz', schema: 'warehouse' };
    const message = expect.stringContaining('holds the rows of source "main"') as string;
    for (const args of [['sync'], ['start'], ['reset', 'customers', '--yes']]) {
      const { code, stdout, stderr } = await beside(linz, ...args);
      expect([args, code, stdout + stderr]).toEqual([args, 2, message]);
    }
    const renamed = await beside({ name: 'main', schema: 'books' }, 'reset', 'customers', '--yes');
    expect([renamed.code, renamed.json().error.message]).toEqual([
      2,
      'The rows of source "main" are in the schema "warehouse", but it is now configured for the schema "books".',
    ]);
    expect(other.stats.total).toBe(0);
    expect(await differences(database, sandbox, 5, ['customers'])).toEqual([]);
    expect((await sluice('reset', 'customers', '--yes')).code).toBe(0);
    expect((await beside(linz, 'sync', 'customers')).code).toBe(0);
    expect(await differences(database, other, 5, ['customers'])).toEqual([]);
    await other.close();
    rmSync(cwd, { recursive: true });
  });
});

test('one source of several that is another installation is an incident until it is corrected; if all are, the service does not start', async () => {
  const options = { size: 'small', apiKey: KEY, rateLimit: 0 } as const;
  const sandboxes = await Promise.all([1, 2, 2].map(seed => openSandbox({ ...options, seed })));
  const [vienna, graz, other] = sandboxes.map(sandbox => sandbox.url) as [string, string, string];
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-moved-'));
  const write = (...urls: [string, string]) =>
    writeFileSync(
      join(cwd, 'sources.json'),
      JSON.stringify(['vienna', 'graz'].map((name, at) => ({ name, url: urls[at], api_key_from: 'THE_KEY' }))),
    );
  await withDatabase(async (database, { url }) => {
    const env = { DATABASE_URL: url, THE_KEY: KEY, ...RARELY };
    const incidents = async () =>
      (
        await database.query<{ isOver: boolean }>(
          `select source, resource, kind, message, ended_at is not null as "isOver" from sluice.incidents`,
        )
      ).rows;
    write(vienna, graz);
    expect((await run(['sync', 'customers'], { env, cwd })).code).toBe(0);
    write(vienna, other);
    const service = begin(['start'], { env, cwd });
    await until(async () => (await doneSlots(database)) === 3 && (await incidents()).length > 0);
    const message = expect.stringContaining('Source "graz" was read from') as string;
    expect(await incidents()).toEqual([{ source: 'graz', resource: null, kind: 'failed', message, isOver: false }]);
    expect(sandboxes[2]?.stats.total).toBe(0);
    expect((await run(['sync', '--source', 'graz', '--moved'], { env, cwd })).code).toBe(0);
    await until(async () => (await incidents()).every(({ isOver }) => isOver));
    service.child.kill('SIGTERM');
    const ended = await service.ended;
    expect([ended.code, ended.stderr]).toEqual([0, expect.stringContaining('Source \\"graz\\" was read from')]);

    write(graz, vienna);
    const { code, stderr } = await run(['start'], { env, cwd });
    expect(code).toBe(2);
    for (const name of ['vienna', 'graz'])
      expect(stderr).toMatch(new RegExp(`Source \\\\?"${name}\\\\?" was read from`));
  });
  for (const sandbox of sandboxes) await sandbox.close();
  rmSync(cwd, { recursive: true });
});

test('a service continues, and is woken again, after all of its database connections are terminated', async () => {
  await withInstallation(SOURCE, async ({ database, env, sluice }) => {
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

test('a service restarts its embedded Postgres server after a crash and continues', async () => {
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

test('a detached backfill pauses within a page, continues at once when resumed, and yields to live slots', async () => {
  await withInstallation({ ...SOURCE, latencyMs: 60 }, async ({ sandbox, database, env, sluice }) => {
    const small = { SOURCE_PAGE_SIZE: '20', SOURCE_CONCURRENCY: '1' };
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

test('a command that is reading also serves the schedule of a service that starts meanwhile', async () => {
  await withInstallation({ ...SOURCE, latencyMs: 250 }, async ({ sandbox, database, env }) => {
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

test('the sources.json of docs/several-sources.md works as written', async () => {
  const document = readFileSync(new URL('../../docs/several-sources.md', import.meta.url), 'utf8');
  const example = /```json\n(\[[\s\S]*?\])\n```/.exec(document)?.[1] ?? '';
  const sandboxes = [
    await openSandbox({ ...SOURCE, rateLimit: 0 }),
    await openSandbox({ ...SOURCE, seed: 2, rateLimit: 0 }),
  ];
  const [vienna, graz] = sandboxes.map(sandbox => sandbox.url) as [string, string];
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-readme-'));
  const written = example.replace('https://vienna.example.com', vienna).replace('https://graz.example.com', graz);
  writeFileSync(join(cwd, 'sources.json'), written);
  await withDatabase(async (database, { url }) => {
    const env = { DATABASE_URL: url, VIENNA_KEY: 'sandbox-key', GRAZ_KEY: 'sandbox-key' };
    const sync = await run(['sync'], { env, cwd });
    expect([sync.code, sync.stdout]).toEqual([0, expect.stringMatching(/^graz invoices +2,000 /m)]);
    for (const [index, schema] of ['vienna', 'graz'].entries())
      expect(await differences(inSchema(database, schema), sandboxes[index] as Sandbox)).toEqual([]);
    // One key, one ledger: the smaller limit of the two holds for both.
    const { rows } = await database.query('select rate_limit from sluice.budgets');
    expect(rows).toEqual([{ rate_limit: 500 }]);
    const status = await run(['status', '--source', 'graz'], { env, cwd });
    expect([status.code, status.stdout]).toEqual([0, expect.stringMatching(/^invoices +2,000 /m)]);
    const sql = await run(['sql', '--source', 'graz', '--json', 'select count(*) from invoices'], { env, cwd });
    expect(sql.json()).toEqual([{ count: 2000 }]);
  });
  for (const sandbox of sandboxes) await sandbox.close();
  rmSync(cwd, { recursive: true });
});

async function doneSlots(database: Database): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    "select count(distinct (source, resource))::int as n from sluice.runs where kind = 'slot' and state = 'done'",
  );
  return rows[0]?.n ?? 0;
}

async function waitingRuns(database: Database): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    "select count(*)::int as n from sluice.runs where state = 'waiting' and waiting_until > sluice.now()",
  );
  return rows[0]?.n ?? 0;
}

async function openRuns(database: Database): Promise<unknown[]> {
  const { rows } = await database.query(
    "select id, resource from sluice.runs where ended_at is null and state = 'running'",
  );
  return rows;
}

/** Connections of this name. */
async function sessions(database: Database, name: string): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = $1`,
    [name],
  );
  return rows[0]?.n ?? 0;
}
