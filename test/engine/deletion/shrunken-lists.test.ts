import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

async function transactionsApart(database: Database, sandbox: Sandbox): Promise<string[]> {
  const found = await differences(database, sandbox, Number.POSITIVE_INFINITY);
  return found.filter(text => text.startsWith('transactions'));
}

const SIZE = { customers: 120, invoices: 300, transactions: 400 };

test.each(some(['half', 'none'] as const, 1))(
  'when a key suddenly sees %s of the rows, nothing is deleted, the loss is reported, and no row is lost when it sees them again',
  async visible => {
    const sandbox = await openSandbox({ size: SIZE, rateLimit: 0 });
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000 });
      await serveOrders(engine, 'sync');
      sandbox.setVariants({ visible });
      for (let turn = 0; turn < 3; turn++) {
        const orders = await serveOrders(engine, 'sync');
        expect(orders.map(order => order.state)).toEqual(['failed', 'failed', 'failed']);
        for (const { reason, resource } of orders)
          expect(reason).toMatch(
            new RegExp(`The source no longer shows \\d+ rows of ${resource};.* --accept-deletes \\d+$`),
          );
      }
      sandbox.setVariants({ visible: 'all' });
      expect(await differences(database, sandbox)).toEqual([]);
      const orders = await serveOrders(engine, 'sync');
      expect(orders.map(order => order.reason ?? order.state)).toEqual(['done', 'done', 'done']);
      const { rows } = await database.query('select from sluice.missing');
      expect(rows).toEqual([]);
      await engine.close();
    });
    await sandbox.close();
  },
);

test('an accepted number of deletions is carried out, and a smaller number deletes nothing', async () => {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['transactions'] });
    await serveOrders(engine, 'sync');
    sandbox.setVariants({ visible: 'half' });
    const [refused] = await serveOrders(engine, 'sync');
    const accepted = Number(/--accept-deletes (\d+)$/.exec(refused?.reason ?? '')?.[1]);
    const [fewer] = await serveOrders(engine, 'sync', { acceptDeletes: accepted - 1 });
    expect(fewer?.state).toBe('failed');
    expect((await database.query('select from warehouse.transactions')).rows).toHaveLength(400);
    const [enough] = await serveOrders(engine, 'sync', { acceptDeletes: accepted });
    expect(enough?.reason ?? enough?.state).toBe('done');
    expect(await transactionsApart(database, sandbox)).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test('a list that does not exist, as with a wrong address, is an error and not an empty list', async () => {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000 });
    await serveOrders(engine, 'sync');
    await engine.close();
    const elsewhere = { ...sandbox, url: `${sandbox.url}/old` } as Sandbox;
    const wrong = await openEngine(database, elsewhere, { limit: 100_000 });
    for (const { reason } of await serveOrders(wrong, 'sync'))
      expect(reason).toMatch(/^The source has no \/api\/v2\/\w+\. Check /);
    await wrong.close();
    expect(await differences(database, sandbox)).toEqual([]);
  });
  await sandbox.close();
});

test('a full answer with a duplicate row is not mistaken for one above the cap', async () => {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants: { paging: 'capped', cap: '100' } });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['transactions'] });
    sandbox.failNext('row-twice', 4);
    await serveOrders(engine, 'sync');
    await serveOrders(engine, 'sync');
    expect(await transactionsApart(database, sandbox)).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test.each(['id-desc', 'id-asc', 'shuffled'] as const)(
  'a truncated list that cannot be split into windows is not mistaken for a complete one (order=%s)',
  async order => {
    const variants = {
      paging: 'capped',
      cap: '100',
      order,
      'invoice-fields': 'bare',
      'date-filter': 'ignored',
    } as const;
    const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants });
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['invoices'] });
      const [served] = await serveOrders(engine, 'sync');
      expect(served?.state).toBe('failed');
      expect(served?.reason).toContain('exactly 100 rows and no further page, so more may be hidden');
      await engine.close();
    });
    await sandbox.close();
  },
);

test('rows that were missing under an assumed order are not missing once the order proves wrong', async () => {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants: { paging: 'whole', order: 'shuffled' } });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['products'] });
    await serveOrders(engine, 'sync');
    // The state left by a reading by ids that took a list ordered by change for one ordered by id.
    await database.query(
      "insert into sluice.coverage (source, resource, slice, id_to) values ('main', 'products', 'id ..6', 6)",
    );
    await database.query(
      `insert into sluice.missing (source, resource, key, slice, since)
       select 'main', 'products', id::text, 'id ..6', sluice.now() - interval '1 minute' from warehouse.products order by id limit 6`,
    );
    // The newest end first, then the list.
    sandbox.failNext('rows-missing', 2, /products/);
    const [order] = await serveOrders(engine, 'sync');
    expect(order).toMatchObject({ state: 'done', deleted: 0 });
    expect(await differences(database, sandbox, 8, ['products'])).toEqual([]);
    const { rows } = await database.query("select from warehouse.row_history where ended_by = 'deleted'");
    expect(rows).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test('the reported number of deletions counts all rows missing after a complete reading, and accepting that number suffices', async () => {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0 });
  for (let row = 0; row < 40; row++) sandbox.insert('orders', [...sandbox.rows('orders')][row % 20] as never);
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['orders'], pageSize: 10 });
    await serveOrders(engine, 'sync');
    const ids = [...sandbox.rows('orders')].map(row => row.id).sort((a, b) => b - a);
    // An earlier reading found the newest rows missing and ended before it reached the oldest.
    const newest = ids.slice(1, 23);
    await database.query(
      `insert into sluice.missing (source, resource, key, slice, since)
       select 'main', 'orders', unnest($1::text[]), 'id ..', sluice.now() - interval '1 minute'`,
      [newest],
    );
    for (const id of [...newest, ...ids.slice(-8)]) sandbox.remove('orders', id);
    const [refused] = await serveOrders(engine, 'sync');
    expect(refused?.reason).toMatch(/--accept-deletes 30$/);
    const [accepted] = await serveOrders(engine, 'sync', { acceptDeletes: 30 });
    expect(accepted).toMatchObject({ state: 'done', deleted: 30 });
    expect(await differences(database, sandbox, 8, ['orders'])).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});
