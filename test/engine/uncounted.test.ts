import { expect, test } from 'vitest';
import { orderOfIds } from '../../src/engine/read-ids.ts';
import { openSandbox } from '../../src/sandbox/sandbox.ts';
import { differences } from '../support/compare.ts';
import { withDatabase } from '../support/database.ts';
import { openEngine, serveOrders } from '../support/source.ts';

const SIZE = { customers: 10, invoices: 10, transactions: 10 };

test('the end of a list without a count makes none of its rows missing', async () => {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants: { paging: 'no-meta' } });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['products'], pageSize: 10 });
    for (let turn = 0; turn < 3; turn++) expect(await serveOrders(engine, 'sync')).toMatchObject([{ state: 'done' }]);
    const { rows } = await database.query('select sum(missing)::int as missing from sluice.runs');
    expect(rows).toEqual([{ missing: 0 }]);
    await engine.close();
  });
  await sandbox.close();
});

test.each([10, 20, 'auto'] as const)(
  'a source that keeps to its own pages and counts none is read whole, %s rows a page asked for: gaps between its pages do not stay open',
  async pageSize => {
    const variants = { paging: 'no-meta', 'limit-max': 'ignored' } as const;
    const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants });
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['products'], pageSize });
      const sync = async () => {
        const orders = await serveOrders(engine, 'sync');
        expect(orders.map(order => order.reason ?? order.state)).toEqual(['done']);
        expect(await differences(database, sandbox, 8, ['products'])).toEqual([]);
      };
      await sync();
      // Between the two pages there is an id that no row has.
      const [edge] = [...sandbox.rows('products')].reverse().slice(20);
      sandbox.remove('products', edge?.id as number);
      await sync();
      await sync();
      const { rows } = await database.query("select slice from sluice.coverage where slice <> 'newest'");
      expect(rows).toEqual([{ slice: 'whole' }]);
      await engine.close();
    });
    await sandbox.close();
  },
);

test('a list ordered by its last changes, without a count, loses no row that is there, whatever its last page looks like', async () => {
  const variants = { paging: 'no-meta', order: 'updated-asc' } as const;
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants });
  await withDatabase(async database => {
    // Changes come while the list is read.
    const onEvent = () => sandbox.changeOthers(1);
    const engine = await openEngine(database, sandbox, {
      limit: 100_000,
      resources: ['tickets', 'products'],
      pageSize: 10,
      onEvent,
    });
    const kinds = () => sandbox.otherChanges.filter(({ kind }) => kind.endsWith('-deleted'));
    for (let turn = 0; turn < 5; turn++) {
      await serveOrders(engine, 'sync');
      const gone = new Set(kinds().map(({ resource, id }) => `${resource} ${id}`));
      const { rows } = await database.query<{ row: string }>(
        `select resource || ' ' || key as row from warehouse.row_history where ended_by = 'deleted'`,
      );
      expect(rows.map(({ row }) => row).filter(row => !gone.has(row))).toEqual([]);
    }
    await engine.close();
  });
  await sandbox.close();
});

test('rows that come all the time do not keep a list from being proven', async () => {
  const variants = { paging: 'no-meta', order: 'shuffled' } as const;
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, {
      limit: 100_000,
      resources: ['products'],
      pageSize: 10,
      onEvent: ({ kind }) => kind === 'committed' && sandbox.changeOther('product-new'),
    });
    const orders = await serveOrders(engine, 'sync');
    expect(orders.map(order => order.reason ?? order.state)).toEqual(['done']);
    await engine.close();
  });
  await sandbox.close();
});

test.each([1, 2, 3, 4, 5, 6])(
  'an order that differs at every request proves nothing, or what there is (%i)',
  async seed => {
    const variants = { paging: 'no-meta', order: 'date-desc-loose' } as const;
    const sandbox = await openSandbox({ seed, size: SIZE, rateLimit: 0, variants });
    await withDatabase(async database => {
      const resources = ['suppliers', 'users'] as const;
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources, pageSize: 10 });
      for (const { resource, state, reason } of await serveOrders(engine, 'sync')) {
        if (state === 'done') expect(await differences(database, sandbox, 8, [resource as 'users'])).toEqual([]);
        else expect(reason).toContain('it showed other rows each time it was read');
      }
      await engine.close();
    });
    await sandbox.close();
  },
);

test('a list that was seen in one order of ids and then in the other is in neither', () => {
  expect(orderOfIds([3n, 5n, 9n], undefined)).toBe('id-asc');
  expect(orderOfIds([9n, 5n], 'id-asc')).toBe('none');
  expect(orderOfIds([3n, 5n], 'id-desc')).toBe('none');
  expect(orderOfIds([3n, 5n], 'none')).toBe('none');
  expect(orderOfIds([5n], 'id-asc')).toBe('id-asc');
});
