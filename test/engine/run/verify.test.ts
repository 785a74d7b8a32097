import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

test.each([
  ['transactions', 'moved-total'],
  ['invoices', 'moved-total'],
  ['customers', 'rows-missing'],
] as const)('a verify of %s ends with a reason if no answer adds up (%s)', async (resource, fault) => {
  const sandbox = await openSandbox({ size: { customers: 30, invoices: 40, transactions: 40 }, rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: [resource], pageSize: 10 });
    await serveOrders(engine, 'sync');
    sandbox.failNext(fault, 1_000_000, new RegExp(`/${resource}\\b`));
    const [order] = await serveOrders(engine, 'verify');
    expect(order).toMatchObject({ state: 'failed', report: { absent: [], different: [] } });
    expect(order?.reason).toContain('does not add up');
    await engine.close();
  });
  await sandbox.close();
});
