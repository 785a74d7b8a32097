import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { acquireSourceLock } from '../../src/warehouse/database/source-lock.ts';
import { noteTroubles } from '../../src/warehouse/ledgers/incidents.ts';
import { createOrder, readOrders } from '../../src/warehouse/ledgers/orders.ts';
import { differences } from '../support/compare.ts';
import { createTestDatabase } from '../support/database.ts';
import { ALL, MAIN } from '../support/resources.ts';
import { begin, hasTerminals, run, until, useBuild, withInstallation } from './run.ts';

useBuild();

test('a command explains itself with an example, and needs no settings for that', async () => {
  const commands = ['sync', 'backfill pause', 'sql'];
  const shown = await Promise.all(commands.map(command => run([...command.split(' '), '--help'])));
  for (const [index, { code, stdout, stderr }] of shown.entries()) {
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`Example:\n  sluice ${commands[index]}`);
  }
});

test('sluice tells its version', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(await run(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
});

test('colours: forced or not by FORCE_COLOR, never with NO_COLOR', async () => {
  await withInstallation({}, async ({ env }) => {
    const colored = async (more: Record<string, string>) =>
      (await run(['status'], { env: { ...env, ...more } })).stdout.includes('\u001b[');
    expect(await colored({})).toBe(false);
    expect(await colored({ FORCE_COLOR: '1' })).toBe(true);
    expect(await colored({ FORCE_COLOR: '0' })).toBe(false);
    expect(await colored({ FORCE_COLOR: '1', NO_COLOR: '1' })).toBe(false);
  });
});

test.skipIf(!hasTerminals)(
  'on a terminal --no-color, NO_COLOR and FORCE_COLOR=0 take the colours from the log, too',
  async () => {
    await withInstallation({}, async ({ env }) => {
      const logged = async (more: Record<string, string>, ...flags: string[]) => {
        const settings = { ...env, TERM: 'xterm', LOG_LEVEL: 'debug', ...more };
        const { code, stdout } = await run(['sync', 'customers', ...flags], { env: settings, terminal: true });
        expect([code, stdout]).toEqual([0, expect.stringContaining('DEBUG')]);
        return stdout;
      };
      const colors = /\[[\d;]*[1-9]m/;
      expect(await logged({})).toMatch(colors);
      for (const plain of [
        await logged({}, '--no-color'),
        await logged({ NO_COLOR: '1' }),
        await logged({ FORCE_COLOR: '0' }),
      ])
        expect(plain).not.toMatch(colors);
    });
  },
);

test('sync reads everything, and the next one finds nothing to write', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice }) => {
    const first = await sluice('sync');
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(/^invoices +600 +0 /m);
    expect(first.stderr).toContain('invoices: done');
    expect(await differences(database, sandbox)).toEqual([]);

    const second = await sluice('sync', 'invoices', '--json');
    expect(second.code).toBe(0);
    expect(second.json().resources).toMatchObject([
      { resource: 'invoices', state: 'done', new: 0, changed: 0, deleted: 0 },
    ]);
  });
});

test('verify reports what differs and exits with 1; --repair makes it equal', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice }) => {
    const unread = await sluice('verify', 'customers');
    expect([unread.code, unread.stdout]).toEqual([
      1,
      expect.stringMatching(/^Not compared, because never read in full \(next: sluice sync\), .*\n {2}customers /m),
    ]);
    await sluice('sync', ...MAIN);
    expect((await sluice('verify', ...MAIN, '--json')).json().equal).toBe(true);

    sandbox.insert('customers', { ...[...sandbox.rows('customers')][0], account: 'New' } as never);
    const { id } = sandbox.change('invoice-edited');
    const gone = sandbox.change('transaction-deleted').id;
    const report = await sluice('verify', ...MAIN);
    expect(report.code).toBe(1);
    expect(report.stdout).toMatch(/^customers +1 \(\d+\) +0 +0 /m);
    expect(report.stdout).toMatch(new RegExp(`^invoices +0 +1 \\(${id}\\) +0 `, 'm'));
    expect(report.stdout).toMatch(new RegExp(`^transactions +0 +0 +1 \\(${gone}\\)`, 'm'));
    expect(report.stdout).toContain('Make it equal: sluice verify --repair');

    expect((await sluice('verify', ...MAIN, '--repair')).code).toBe(0);
    expect(await differences(database, sandbox)).toEqual([]);
  });
});

test('verify calls nothing equal while a record is in quarantine, and tells how many there are', async () => {
  await withInstallation({}, async ({ sandbox, sluice }) => {
    const [invoice] = sandbox.rows('invoices');
    sandbox.update('invoices', invoice?.id as number, { amount: 'a lot' });
    await sluice('sync', ...MAIN);
    const report = await sluice('verify', 'invoices');
    expect(report.code).toBe(1);
    expect(report.stdout).toMatch(/^invoices +0 +0 +0 +1 +\d+$/m);
    expect(report.stdout).toContain('did not parse: 1 record. See: sluice quarantine');
    expect(report.stdout).not.toMatch(/equals the source|--repair/);
    for (const line of report.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
    expect((await sluice('verify', 'invoices', 'transactions', '--json')).json()).toMatchObject({
      equal: false,
      resources: [{ resource: 'invoices', quarantined: 1, absent: [] }, { quarantined: 0 }],
    });
    const [, customer] = sandbox.rows('customers');
    sandbox.update('customers', customer?.id as number, { created_at: 'long ago' });
    expect((await sluice('verify', 'customers', '--json')).json()).toMatchObject({
      equal: false,
      resources: [{ quarantined: 1, absent: [], different: [], extra: [] }],
    });
    sandbox.update('customers', customer?.id as number, { created_at: '2024-01-01T00:00:00Z' });
    sandbox.update('invoices', invoice?.id as number, { amount: 12.5 });
    expect((await sluice('verify', ...MAIN, '--repair')).code).toBe(0);
    expect(await sluice('verify', 'invoices')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('The warehouse equals the source.') as string,
    });
  });
});

test('status tells what is wrong, once: an incident in place of the failed run it came from', async () => {
  await withInstallation({}, async ({ database, env, sluice }) => {
    const refused = await run(['sync', 'invoices'], { env: { ...env, SOURCE_API_KEY: 'wrong' } });
    expect(refused.code).toBe(1);
    const failed = (await sluice('status')).stdout;
    expect(failed).toContain('The last sync of invoices failed at ');
    const message = 'The source refused the API key.';
    await noteTroubles(database.kysely, 'main', [
      { kind: 'unauthorized', resource: null, message, next: 'Set a key.' },
    ]);
    const status = (await sluice('status')).stdout;
    expect(status).toMatch(/^main: API key rejected since \d{4}-.*\. The source refused the API key\.\nSet a key\.$/m);
    expect(status).not.toContain('The last sync of invoices failed');
    expect((await sluice('status', '--json')).json().incidents).toMatchObject([{ kind: 'unauthorized', message }]);
  });
});

test('status, doctor and quarantine tell the state in at most 100 columns', async () => {
  await withInstallation({}, async ({ sandbox, sluice, test }) => {
    const before = await sluice('status', '--json');
    expect(before.json().resources).toMatchObject(ALL.map(() => ({ rows: 0 })));
    const [invoice] = sandbox.rows('invoices');
    sandbox.update('invoices', invoice?.id as number, { amount: 'a lot' });
    await sluice('sync', ...MAIN);

    const status = await sluice('status');
    expect([status.code, status.stderr]).toEqual([0, '']);
    const { username, host, pathname } = new URL(test.url);
    expect(status.stdout).toContain(
      `psql "postgres://${username}:***@${host}${pathname}"`.replace('postgres:', new URL(test.url).protocol),
    );
    expect(status.stdout).toMatch(/^customers +150 .* 100% +0 +0$/m);
    expect(status.stdout).toMatch(/^invoices +599 .* +0 +1$/m);
    expect(status.stdout).toMatch(/^Times are in UTC\.$/m);
    for (const line of status.stdout.split('\n').slice(1)) expect(line.length, line).toBeLessThanOrEqual(100);

    const asked = sandbox.stats.total;
    const doctor = await sluice('doctor');
    expect(doctor.code).toBe(0);
    expect(sandbox.stats.total - asked).toBeLessThanOrEqual(1);
    for (const check of ['database', 'tables', 'source', 'key', 'quota'])
      expect(doctor.stdout).toMatch(new RegExp(`^ok +${check} `, 'm'));
    expect(doctor.stdout).toMatch(/SOURCE_API_KEY +\(set, not shown\) +environment/);
    expect(doctor.stdout).toMatch(/customers +newest id first/);

    const quarantine = await sluice('quarantine');
    expect(quarantine.stdout).toMatch(new RegExp(`^invoices +${invoice?.id} +amount: `, 'm'));
    expect(quarantine.stdout).toContain(
      'A record leaves quarantine by itself once the source sends it right, or no longer shows it. Times are in UTC.\n',
    );
    const { records } = (await sluice('quarantine', '--json')).json();
    expect(JSON.parse(records[0].payload)).toMatchObject({ amount: 'a lot' });
  });
});

test('an open backfill is listed and can be paused however many were ordered and ended after it', async () => {
  await withInstallation({}, async ({ database, sluice }) => {
    const place = { source: 'main', resource: 'invoices', kind: 'backfill' } as const;
    const { id } = await createOrder(database.kysely, place);
    await database.query(
      `insert into sluice.orders (source, resource, kind, state, created_at, ended_at)
       select 'main', 'invoices', 'backfill', 'done', sluice.now(), sluice.now() from generate_series(1, 60)`,
    );
    const { backfills } = (await sluice('backfill', 'list', '--json')).json();
    expect(backfills.at(-1)).toMatchObject({ id: Number(id), state: 'waiting' });
    expect((await sluice('backfill', 'pause', id)).code).toBe(0);
    expect((await sluice('backfill', 'cancel')).code).toBe(0);
    expect(await readOrders(database.kysely, [id])).toMatchObject([{ state: 'cancelled' }]);

    // A reason is as long as it takes, and the table is no wider for it.
    const range = { dateFrom: '2024-01-01', dateTo: '2024-12-31' };
    const later = await createOrder(database.kysely, { ...place, resource: 'transactions', ...range });
    expect((await sluice('backfill', 'cancel')).code).toBe(0);
    const listed = (await sluice('backfill', 'list')).stdout;
    expect(listed).toContain(`\n\n${later.id}: Cancelled on request.\n`);
    for (const line of listed.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100);
  });
});

test('sql writes tables, CSV and JSON exactly, and only reads', async () => {
  await withInstallation({}, async ({ env, sluice }) => {
    const query = `select 12345678901234567.89::numeric as n, null as nothing, E'a "b",\\nc' as t, true as yes`;
    expect((await sluice('sql', query)).stdout).toMatch(
      /^ +n +nothing +t +yes\n12345678901234567\.89 +NULL +a "b",⏎c +t\n\(1 row\)\n$/,
    );
    expect((await sluice('sql', '--format', 'csv', query)).stdout).toBe(
      'n,nothing,t,yes\r\n12345678901234567.89,,"a ""b"",\nc",t\r\n',
    );
    const piped = await run(['sql', '--json'], { env, input: query });
    expect(piped.stdout).toContain('"n":12345678901234567.89,');
    expect(piped.json()).toMatchObject([{ nothing: null, t: 'a "b",\nc', yes: true }]);

    const wide = await sluice('sql', "select repeat('x', 300) as wide");
    expect(wide.stdout).toMatch(/x…\n\(1 row; what ends with … is cut: --format csv or json shows it whole\)\n$/);

    const many = await sluice('sql', '--format', 'csv', 'select g from generate_series(1, 1234) g');
    expect(many.stdout.split('\r\n')).toHaveLength(1236);
    expect((await sluice('sql', '--json', 'select * from invoices')).json()).toEqual([]);

    const write = await sluice('sql', 'insert into customers (id) values (1)');
    expect([write.code, write.stderr]).toEqual([
      1,
      expect.stringMatching(/is read-only.*\n.*use psql.*in another schema/),
    ]);
    const wrong = await sluice('sql', '--json', 'select nonsense');
    expect([wrong.code, wrong.json().error.message]).toEqual([1, expect.stringContaining('nonsense')]);
    expect((await sluice('sql', 'select * from invoice')).stderr).toContain('\nThe schemas warehouse, sluice and');
    expect((await sluice('sql', 'select 1; select 2')).stderr).toContain('Send one statement at a time.');
    expect((await sluice('sql', '--json', '--format', 'csv', 'select 1')).code).toBe(2);
    expect((await sluice('sql')).code).toBe(2);
  });
});

test('an interrupted sql fails and says that its result is incomplete; one that waits for its query ends at once', async () => {
  await withInstallation({}, async ({ env }) => {
    const asking = begin(['sql', '--format', 'csv', 'select generate_series(1, 1000000000)'], { env });
    await until(() => asking.stdout().length > 1000);
    asking.child.kill('SIGTERM');
    expect(await asking.ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('result is incomplete.\n') as string,
    });

    const waiting = begin(['sql'], { env, open: true });
    // No pipe holds so much: it is read from by now.
    await new Promise(resolve => waiting.child.stdin?.write(' '.repeat(4_000_000), resolve));
    waiting.child.kill('SIGTERM');
    expect(await waiting.ended).toMatchObject({ code: 1, stderr: 'Stopped on request, before a query came.\n' });
  });
});

test('backfill: the dry run asks nothing; a detached order is listed, paused, resumed and cancelled', async () => {
  await withInstallation({}, async ({ sandbox, sluice, database }) => {
    const unread = await sluice('backfill', 'invoices', '--dry-run');
    expect(unread.stdout).toContain('never read');
    await sluice('sync', 'invoices');
    const asked = sandbox.stats.total;
    const from = `${new Date().getUTCFullYear() - 1}-01-01`;
    const dry = (await sluice('backfill', 'invoices', '--from', from, '--dry-run', '--json')).json();
    expect(dry.total).toMatchObject({ neverRead: 0 });
    expect(dry.total.requests).toBeGreaterThan(0);
    expect(sandbox.stats.total).toBe(asked);

    const order = (await sluice('backfill', 'invoices', '--from', from, '--detach', '--json')).json();
    expect(order).toMatchObject({ state: 'waiting', service: false });
    expect((await sluice('backfill', 'pause', String(order.order))).code).toBe(0);
    const again = await sluice('backfill', 'invoices', '--from', from);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('paused')]);
    expect((await sluice('backfill', 'resume')).code).toBe(0);
    const list = await sluice('backfill', 'list');
    expect(list.stdout).toMatch(new RegExp(`${order.order} +invoices +${from} .. end +waiting`));
    const [{ left }] = (await sluice('backfill', 'list', '--json')).json().backfills;
    expect(Number.isInteger(left.finishesAt)).toBe(true);

    const served = await sluice('backfill', 'invoices', '--from', from, '--json');
    expect(served.json().resources).toMatchObject([{ order: order.order, state: 'done' }]);
    const none = await sluice('backfill', 'cancel');
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('There is no backfill to cancel.\nSee')]);
    const { rows } = await database.query('select count(*)::int as orders from sluice.orders');
    expect(rows).toEqual([{ orders: 2 }]);
  });
});

test('reset forgets one resource, but neither unasked nor while the source is being read', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice }) => {
    await sluice('sync', ...MAIN);
    expect((await sluice('reset', 'invoices')).code).toBe(2);
    const lock = await acquireSourceLock(database, 'main');
    const held = await sluice('reset', 'invoices', '--yes');
    expect([held.code, held.stderr]).toEqual([1, expect.stringContaining('reading the source')]);
    await lock?.release();
    expect((await sluice('reset', 'invoices', '--yes', '--json')).json()).toEqual({ resource: 'invoices', rows: 600 });
    const { rows } = await database.query(`select (select count(*)::int from warehouse.invoices) as invoices,
      (select count(*)::int from warehouse.invoice_items) as items, (select count(*)::int from warehouse.customers) as customers`);
    expect(rows).toEqual([{ invoices: 0, items: 0, customers: 150 }]);
    expect((await sluice('sync', 'invoices')).code).toBe(0);
    expect(await differences(database, sandbox)).toEqual([]);
  });
});

test('migrate lists what it applied, and waits for another process until it is stopped; sync does it by itself', async () => {
  const empty = await createTestDatabase({ empty: true });
  const env = { DATABASE_URL: empty.url };
  expect((await run(['status'], { env })).stdout).toMatch(
    /Pending migrations: sluice\/0001_clock_and_budget, .* and \d+ more\.\nNext: sluice sync, which migrates first \(or only: sluice migrate\)\n$/,
  );
  const other = new pg.Client({ connectionString: empty.url });
  await other.connect();
  await other.query("select pg_advisory_lock(hashtextextended('sluice migrate', 0))");
  const waiting = begin(['migrate'], { env });
  await until(() => waiting.stderr().includes('Another process migrates the database at '));
  waiting.child.kill('SIGTERM');
  expect((await waiting.ended).code).toBe(1);
  await other.end();
  const { applied } = (await run(['migrate', '--json'], { env })).json();
  expect(applied).toContain('sluice/0001_clock_and_budget');
  expect((await run(['migrate'], { env })).stdout).toContain('Nothing to do');
  await empty.drop();
});

test('what an older Sluice left is not called nothing: the commands that look into it name what is to be migrated', async () => {
  await withInstallation({}, async ({ sandbox, database, env, sluice }) => {
    const cwd = mkdtempSync(join(tmpdir(), 'sluice-older-'));
    writeFileSync(join(cwd, 'new.csv'), 'account\nNew\n');
    const place = { source: 'main', resource: 'invoices', kind: 'backfill' } as const;
    const { id } = await createOrder(database.kysely, place);
    const looks = [
      'backfill list',
      `backfill cancel ${id}`,
      'backfill invoices --dry-run',
      'quarantine',
      'webhooks list',
      'push customers new.csv',
    ];
    const lookAll = () => Promise.all(looks.map(look => run(look.split(' '), { env, cwd })));

    // Of the warehouse they need nothing.
    await database.query(
      "delete from sluice.migrations_warehouse where name like '0009%'; drop table warehouse.purchases",
    );
    expect((await sluice('backfill', 'list')).stdout).toMatch(
      new RegExp(`^ *${id} +invoices +everything +waiting`, 'm'),
    );
    expect((await sluice('quarantine')).stdout).toBe('Nothing is in quarantine.\n');

    await database.query("delete from sluice.migrations where name like '0008%'");
    for (const { code, stdout, stderr } of await lookAll())
      expect([code, stdout, stderr]).toEqual([
        2,
        '',
        expect.stringMatching(
          / are not up to date \(sluice\/0008_\w+\)\.\nDone by the next sync, or now: sluice migrate\n$/,
        ),
      ]);

    await database.query('drop schema sluice cascade; drop schema warehouse cascade');
    const nothing = await lookAll();
    expect(nothing.map(({ code }) => code)).toEqual([0, 2, 0, 0, 0, 0]);
    expect(nothing[0]?.stdout).toContain('No backfill was ordered yet');
    expect(nothing[1]?.stderr).toContain(`There is no backfill ${id} to cancel.`);
    expect(sandbox.stats.total).toBe(0);
    rmSync(cwd, { recursive: true });
  });
});

test('start reads every resource on its schedule and orders as they come; SIGTERM ends it with 0', async () => {
  await withInstallation({}, async ({ sandbox, database, env, sluice }) => {
    const service = begin(['start'], { env });
    const done = async (kind: string) => {
      const { rows } = await database.query<{ n: number }>(
        "select count(*)::int as n from sluice.runs where state = 'done' and kind = $1",
        [kind],
      );
      return rows[0]?.n ?? 0;
    };
    await until(async () => (await done('slot')) === 3);
    expect((await sluice('status', '--json')).json().service).toBe(true);
    expect((await sluice('backfill', 'customers', '--detach', '--json')).json().service).toBe(true);
    await until(async () => (await done('backfill')) === 1);
    service.child.kill('SIGTERM');
    const { code, stderr } = await service.ended;
    expect(code).toBe(0);
    const lines = stderr
      .trim()
      .split('\n')
      .map(line => JSON.parse(line));
    expect(lines).toContainEqual(expect.objectContaining({ resource: 'customers', kind: 'slot', inserted: 150 }));
    expect(await differences(database, sandbox)).toEqual([]);
  });
});

test('sandbox serves until it is stopped', async () => {
  const server = begin(['sandbox', '--json', '--seed', '3', '--variant', 'order=id-asc']);
  await until(() => server.stdout().includes('}'));
  const { url, apiKey } = JSON.parse(server.stdout());
  const answer = await fetch(`${url}/api/v2/customers?limit=1`, { headers: { authorization: `Bearer ${apiKey}` } });
  expect(await answer.json()).toMatchObject({ success: true });
  server.child.kill('SIGINT');
  expect((await server.ended).code).toBe(0);
});

test('demo needs nothing, shows equal tables in under 30 seconds, and stop-db stops its server', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-demo-'));
  // Run as root, the server belongs to an unprivileged user, who has to be able to enter.
  chmodSync(cwd, 0o755);
  try {
    const began = performance.now();
    const { code, stdout, stderr } = await run(['demo'], { cwd });
    expect([code, stderr]).toEqual([0, expect.stringContaining('invoices: done')]);
    expect(performance.now() - began).toBeLessThan(30_000);
    expect(stdout).toContain('every row is equal');
    expect(stdout).toMatch(/psql "postgres:\/\/.*\/sluice_demo"\n.*warehouse\.invoices/);
    for (const line of stdout.split('\n')) if (!line.includes('psql')) expect(line.length).toBeLessThanOrEqual(110);

    const status = await run(['status', '--json'], { cwd });
    expect(status.json().database).toMatch(/^postgres:\/\/sluice:.+@127\.0\.0\.1:\d+\/sluice$/);
  } finally {
    expect((await run(['stop-db'], { cwd })).stdout).toContain('has stopped');
    expect((await run(['stop-db', '--json'], { cwd })).json()).toEqual({ stopped: false });
    rmSync(cwd, { recursive: true, force: true });
  }
});
