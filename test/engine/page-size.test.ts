import { expect, test } from 'vitest';
import { openSandbox } from '../../src/sandbox/sandbox.ts';
import { withDatabase } from '../support/database.ts';
import { openEngine, serveOrders } from '../support/source.ts';

test('a short outage at the first page does not make every later reading dearer', async () => {
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
