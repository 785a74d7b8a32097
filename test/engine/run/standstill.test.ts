import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

test('if nothing can be read and nothing is being read, the runs end with the reason', async () => {
  const sandbox = await openSandbox({ size: { customers: 5, invoices: 5, transactions: 5 }, rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 1000, resources: ['customers'] });
    // A reading that never began holds the list.
    engine.resources[0]?.reading.add({ by: 'whole' });
    const [order] = await serveOrders(engine, 'sync');
    expect(order).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('nothing is being read') as string,
    });
    await engine.close();
  });
  await sandbox.close();
});
