import { expect, test } from 'vitest';
import { openSandbox } from '../../src/sandbox/sandbox.ts';
import { differences } from '../support/compare.ts';
import { withDatabase } from '../support/database.ts';
import { openEngine, serveOrders } from '../support/source.ts';

test('a first sync leaves every table equal to the source', async () => {
  const sandbox = await openSandbox({ size: 'small' });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox);
    const orders = await serveOrders(engine, 'sync');
    expect(orders.map(order => [order.resource, order.state, order.reason])).toEqual([
      ['customers', 'done', null],
      ['invoices', 'done', null],
      ['transactions', 'done', null],
    ]);
    expect(await differences(database, sandbox)).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});
