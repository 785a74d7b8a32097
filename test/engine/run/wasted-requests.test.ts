import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { isWasteful } from '../../../src/engine/run/readings/run-reading.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

test('a reading may send each request four times, and thirty requests beyond its pages', () => {
  expect(isWasteful({ requests: 30, pages: 0 })).toBe(false);
  expect(isWasteful({ requests: 31, pages: 0 })).toBe(true);
  expect(isWasteful({ requests: 30 + 4 * 100, pages: 100 })).toBe(false);
  expect(isWasteful({ requests: 31 + 4 * 100, pages: 100 })).toBe(true);
});

test('a reading that takes five requests a page is given up, the run says so, and other lists are read', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({
      rateLimit: 0,
      clock,
      size: { customers: 160, invoices: 10, transactions: 10 },
      variants: { order: 'updated-desc' },
    });
    const engine = await openEngine(database, sandbox, {
      clock,
      limit: 100_000,
      concurrency: 1,
      pageSize: 4,
      resources: ['customers', 'invoices'],
      wrapBudget: budget => ({
        ...budget,
        settle(grant, settlement) {
          if (settlement.status === 200 && settlement.purpose.startsWith('customers'))
            sandbox.failNext('drop', 4, /customers/);
          return budget.settle(grant, settlement);
        },
      }),
    });
    const [customers, invoices] = await serveOrders(engine, 'sync');
    expect(customers).toMatchObject({
      state: 'failed',
      reason: expect.stringMatching(/\d+ requests brought only \d+ pages of rows/),
    });
    expect(invoices?.state).toBe('done');
    await engine.close();
    await sandbox.close();
  });
});
