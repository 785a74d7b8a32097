import { expect, test } from 'vitest';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

test('a short outage at the first page does not make later readings more expensive', async () => {
  const costAfter = async (failures: number): Promise<number> => {
    const size = { customers: 3000, invoices: 10, transactions: 10 };
    const sandbox = await openSandbox({ size, rateLimit: 0, variants: { 'limit-max': '1000' } });
    try {
      return await withDatabase(async database => {
        const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['customers'] });
        if (failures > 0) sandbox.failNext('json-500', failures);
        await serveOrders(engine, 'sync');
        sandbox.stats.reset();
        const orders = await serveOrders(engine, 'sync');
        expect(orders[0]?.state).toBe('done');
        await engine.close();
        return sandbox.stats.total;
      });
    } finally {
      await sandbox.close();
    }
  };
  expect(await costAfter(3)).toBe(await costAfter(0));
});

test('pages are counted by the rows returned, even if more rows per page are requested', async () => {
  const size = { customers: 1200, invoices: 900, transactions: 700 };
  const sandbox = await openSandbox({ size, rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, pageSize: 500 });
    for (let turn = 0; turn < 2; turn++) {
      const orders = await serveOrders(engine, 'sync');
      expect(orders.map(order => order.reason ?? order.state)).toEqual(['done', 'done', 'done']);
      expect(await differences(database, sandbox)).toEqual([]);
    }
    await engine.close();
  });
  await sandbox.close();
});

test('a list is read to its end in pages so small that all of their edges meet', async () => {
  const size = { customers: 30, invoices: 10, transactions: 10 };
  for (const variants of [{}, { 'count-values': 'huge' as const }]) {
    const sandbox = await openSandbox({ size, rateLimit: 0, variants });
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, pageSize: 4, resources: ['customers'] });
      const orders = await serveOrders(engine, 'sync');
      expect(orders.map(order => order.reason ?? order.state)).toEqual(['done']);
      expect((await differences(database, sandbox)).filter(text => text.startsWith('customers'))).toEqual([]);
      await engine.close();
    });
    await sandbox.close();
  }
});

test('the last page reveals a source that uses its own page size, so adjacent pages without overlap cover the list', async () => {
  const size = { customers: 28, invoices: 10, transactions: 10 };
  const sandbox = await openSandbox({ size, rateLimit: 0, variants: { 'limit-max': 'ignored' } });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['customers'] });
    await serveOrders(engine, 'sync');
    // Between the two pages there is an id that no row has, so that they have to be seen to meet.
    const [edge] = [...sandbox.rows('customers')].reverse().slice(20);
    sandbox.remove('customers', edge?.id as number);
    const orders = await serveOrders(engine, 'sync');
    expect(orders.map(order => order.reason ?? order.state)).toEqual(['done']);
    expect((await differences(database, sandbox)).filter(text => text.startsWith('customers'))).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test('a list of one full page, repeated past its end, is found to have pages once it grows', async () => {
  const sandbox = await openSandbox({
    size: { customers: 20, invoices: 100, transactions: 10 },
    rateLimit: 0,
    variants: { paging: 'no-meta', 'past-end': 'last-page', 'invoice-fields': 'bare' },
  });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['invoices'] });
    await serveOrders(engine, 'sync');
    // More than a window of one day can show in a single answer.
    for (let added = 0; added < 120; added++) sandbox.change('invoice-new');
    const orders = await serveOrders(engine, 'sync');
    expect(orders.map(order => order.reason ?? order.state)).toEqual(['done']);
    expect((await differences(database, sandbox)).filter(text => text.startsWith('invoices'))).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test('the end of a counted list is found even if deleted rows make a reading request pages past it', async () => {
  const sandbox = await openSandbox({ size: 'small', rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['products'], pageSize: 10 });
    await serveOrders(engine, 'sync');
    const ids = [...sandbox.rows('products')].map(({ id }) => id).sort((a, b) => a - b);
    for (const id of [1, ...ids.slice(20, 32)]) sandbox.remove('products', id);
    const orders = await serveOrders(engine, 'sync');
    expect(orders.map(order => order.reason ?? order.state)).toEqual(['done']);
    expect(await differences(database, sandbox, 8, ['products'])).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test('a page that had lost rows does not set the page size for good', async () => {
  const sandbox = await openSandbox({ size: 'small', rateLimit: 0, variants: { paging: 'no-meta' } });
  for (const lossy of [1, 2, 3, 4]) {
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['products'], pageSize: 10 });
      sandbox.failNext('rows-missing', lossy, 'products?');
      for (let turn = 0; turn < 3; turn++) await serveOrders(engine, 'sync');
      expect(await differences(database, sandbox, 8, ['products'])).toEqual([]);
      const { rows } = await database.query<{ value: string }>(
        `select value from sluice.traits where resource = 'products' and trait = 'page size'`,
      );
      expect([lossy, Number(rows[0]?.value ?? 10)]).toEqual([lossy, 10]);
      await engine.close();
    });
  }
  await sandbox.close();
});

test('a page size of the settings that the source refuses is asked for once, not at every reading', async () => {
  const size = { customers: 60, invoices: 10, transactions: 10 };
  const sandbox = await openSandbox({ size, rateLimit: 0, variants: { 'limit-max': '20-reject' } });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, pageSize: 500, resources: ['customers'] });
    const refused = async () => {
      sandbox.stats.reset();
      expect((await serveOrders(engine, 'sync')).map(order => order.reason ?? order.state)).toEqual(['done']);
      return sandbox.stats.requests.filter(({ status }) => status === 400).length;
    };
    expect([await refused(), await refused()]).toEqual([5, 0]);
    await engine.close();
  });
  await sandbox.close();
});

test.each(some(['10-25-50-100', 'at-least-10'] as const, 1))(
  'where only some limits are accepted (%s), pages are asked for in the size that is, counted or not',
  async values => {
    const size = { customers: 330, invoices: 10, transactions: 330 };
    const variants = { paging: 'no-meta', 'date-filter': 'ignored', 'limit-values': values } as const;
    const sandbox = await openSandbox({ size, rateLimit: 0, variants });
    await withDatabase(async database => {
      const resources = ['customers', 'transactions'] as const;
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources });
      const refused = async () => {
        sandbox.stats.reset();
        const orders = await serveOrders(engine, 'sync');
        expect(orders.map(order => order.reason ?? order.state)).toEqual(['done', 'done']);
        expect(await differences(database, sandbox, 8, resources)).toEqual([]);
        return sandbox.stats.requests.filter(({ status }) => status === 400).length;
      };
      await refused();
      for (const resource of resources)
        for (const row of [...sandbox.rows(resource)].slice(150, 155)) sandbox.remove(resource, row.id);
      await refused();
      expect(await refused()).toBe(0);
      await engine.close();
    });
    await sandbox.close();
  },
);

test.each(some(['meta', 'no-meta'] as const, 2))(
  'pages are as long as a source allows that shows its default above its maximum (%s)',
  async paging => {
    const size = { customers: 400, invoices: 400, transactions: 10 };
    const sandbox = await openSandbox({
      size,
      rateLimit: 0,
      variants: parseVariants(`limit-max=100-default,paging=${paging}`),
    });
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['customers', 'invoices'] });
      const orders = await serveOrders(engine, 'sync');
      expect(orders.map(order => order.reason ?? order.state)).toEqual(['done', 'done']);
      expect(await differences(database, sandbox, 5, ['customers', 'invoices'])).toEqual([]);
      // 800 rows at 20 a page would take more than 40.
      expect(sandbox.stats.total).toBeLessThan(40);
      await engine.close();
    });
    await sandbox.close();
  },
);
