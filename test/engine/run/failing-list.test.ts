import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders, serveTick } from '../../support/source.ts';

const SIZE = { customers: 30, invoices: 30, transactions: 30 };

test.each([
  ['404', 'The source no longer shows 30 rows of transactions'],
  ['400', 'Bad request'],
] as const)(
  'a list that answers %s to every request fails alone, in a sync and at a tick that all lists share',
  async (status, told) => {
    await withDatabase(async database => {
      const sandbox = await openSandbox({ size: SIZE, rateLimit: 0 });
      const engine = await openEngine(database, sandbox);
      await serveOrders(engine, 'sync');
      sandbox.setVariants({ 'failing-list': `transactions-${status}` });
      const orders = await serveOrders(engine, 'sync');
      expect(orders.map(({ resource, state }) => [resource, state])).toEqual([
        ['customers', 'done'],
        ['invoices', 'done'],
        ['transactions', 'failed'],
      ]);
      expect(orders[2]?.reason).toContain(told);

      sandbox.changeRandom(20);
      // Some sources answer 404 for an empty list: what follows the tick tells.
      for (let time = 0; time < 3; time++) await serveTick(engine);
      const { rows } = await database.query(
        `select distinct on (resource) resource, state from sluice.runs where kind = 'slot' order by resource, id desc`,
      );
      expect(rows).toEqual([
        { resource: 'customers', state: 'done' },
        { resource: 'invoices', state: 'done' },
        { resource: 'transactions', state: 'failed' },
      ]);
      const { rows: deleted } = await database.query(
        "select from warehouse.row_history where resource = 'transactions' and ended_by = 'deleted'",
      );
      expect(deleted).toEqual([]);

      sandbox.setVariants({ 'failing-list': 'none' });
      expect((await serveOrders(engine, 'sync')).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
      expect(await differences(database, sandbox)).toEqual([]);
      await engine.close();
      await sandbox.close();
    });
  },
);

test('a list that answered 404 from the start is not offered, and is read once it answers', async () => {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants: { 'failing-list': 'users-404' } });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['customers', 'users'] });
    const [customers, users] = await serveOrders(engine, 'sync');
    expect([customers?.state, users?.state, users?.reason]).toEqual(['done', 'done', expect.stringContaining('offer')]);
    sandbox.setVariants({ 'failing-list': 'none' });
    expect((await serveOrders(engine, 'sync')).map(({ state }) => state)).toEqual(['done', 'done']);
    expect(await differences(database, sandbox, 5, ['customers', 'users'])).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});
