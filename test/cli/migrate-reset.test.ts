import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { acquireSourceLock } from '../../src/warehouse/database/source-lock.ts';
import { createOrder } from '../../src/warehouse/ledgers/orders.ts';
import { differences } from '../support/compare.ts';
import { createTestDatabase } from '../support/database.ts';
import { long } from '../support/long.ts';
import { MAIN } from '../support/resources.ts';
import { begin, run, until, useBuild, withInstallation } from './run-command.ts';

useBuild();

long('reset deletes one resource, but only if confirmed and while nobody reads the source', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice, sync }) => {
    await sync(...MAIN);
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

test('migrate lists the migrations it applied, and can be stopped while it waits for another process', async () => {
  const empty = await createTestDatabase({ empty: true });
  const env = { DATABASE_URL: empty.url };
  expect((await run(['status'], { env })).stdout).toMatch(
    /Pending migrations: sluice\/0001_clock_and_budget, .* and \d+ more\.\nNext: sluice sync, which migrates first \(or only: sluice migrate\)\n$/,
  );
  const other = new pg.Client({ connectionString: empty.url });
  await other.connect();
  await other.query("select pg_advisory_lock(hashtextextended('sluice migrate', 0))");
  const waiting = begin(['migrate'], { env });
  await until(() => waiting.stderr().includes('Another process is migrating the database at '));
  waiting.child.kill('SIGTERM');
  expect((await waiting.ended).code).toBe(1);
  await other.end();
  const { applied } = (await run(['migrate', '--json'], { env })).json();
  expect(applied).toContain('sluice/0001_clock_and_budget');
  expect((await run(['migrate'], { env })).stdout).toContain('Nothing to do');
  await empty.drop();
});

test('on tables of an older version, commands name the pending migrations instead of reporting nothing', async () => {
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

    // They need no table of the warehouse.
    await database.query(
      "delete from sluice.migrations_warehouse where name like '0009%'; drop table warehouse.purchases cascade",
    );
    expect((await sluice('backfill', 'list')).stdout).toMatch(
      new RegExp(`^ *${id} +invoices +everything +waiting`, 'm'),
    );
    expect((await sluice('quarantine')).stdout).toBe('The quarantine is empty.\n');

    await database.query("delete from sluice.migrations where name like '0008%'");
    for (const { code, stdout, stderr } of await lookAll())
      expect([code, stdout, stderr]).toEqual([
        2,
        '',
        expect.stringMatching(
          / are not up to date \(sluice\/0008_\w+\)\.\nThe next sync migrates them; to migrate now: sluice migrate\n$/,
        ),
      ]);

    await database.query('drop schema sluice cascade; drop schema warehouse cascade');
    const nothing = await lookAll();
    expect(nothing.map(({ code }) => code)).toEqual([0, 2, 0, 0, 0, 0]);
    expect(nothing[0]?.stdout).toContain('There are no backfills yet');
    expect(nothing[1]?.stderr).toContain(`There is no backfill ${id} to cancel.`);
    expect(sandbox.stats.total).toBe(0);
    rmSync(cwd, { recursive: true });
  });
});
