import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { lookUp, MOST_DROPS } from '../../../src/engine/run/next/task-act.ts';
import type { Task } from '../../../src/engine/task/task.ts';
import { NEW_STATE } from '../../../src/engine/task/task-state.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

test('half of a body that comes again as page 2 does not make its list one of pages: its slices are not read again and again', async () => {
  const sandbox = await openSandbox({
    size: { customers: 20, invoices: 200, transactions: 5 },
    rateLimit: 0,
    variants: { paging: 'whole', 'invoice-fields': 'bare' },
  });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['invoices'] });
    sandbox.failNext('rows-missing', 40, /date_.*page=2/);
    const [order] = await serveOrders(engine, 'sync');
    expect(order?.reason ?? order?.state).toBe('done');
    expect(sandbox.stats.total).toBeLessThan(40);
    expect(await differences(database, sandbox, 8, ['invoices'])).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test('a task whose list is to be read in another way again and again fails with words', () => {
  const slice = { by: 'id', from: null, to: null } as const;
  const resource = {
    name: 'invoices',
    entries: new Map([['id ..', { slice }]]),
    reading: new Set(),
    strategy: { partition: 'date' },
  };
  const taskAfter = (drops: number) => ({ state: { ...NEW_STATE, drops }, resource }) as unknown as Task;
  expect(lookUp(taskAfter(MOST_DROPS - 1))).toMatchObject({ kind: 'drop slices', slices: [slice] });
  expect(lookUp(taskAfter(MOST_DROPS))).toMatchObject({
    kind: 'fail',
    error: { kind: 'failed', message: expect.stringContaining('The answers for invoices contradict each other') },
  });
});
