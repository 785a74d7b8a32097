import { expect, test } from 'vitest';
import { openSandbox } from '../../../../sandbox/sandbox.ts';
import type { Loop } from '../../../../src/engine/run/engine.ts';
import { takeOrders } from '../../../../src/engine/run/tasks/take-orders.ts';
import { createOrder } from '../../../../src/warehouse/ledgers/orders.ts';
import { withDatabase } from '../../../support/database.ts';
import { openEngine } from '../../../support/source.ts';

test('what is held is emptied before any commit takes the loss for accepted', async () => {
  const sandbox = await openSandbox({ size: { customers: 1, invoices: 1, transactions: 1 }, rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { resources: ['invoices'] });
    const [resource] = engine.resources;
    const accepted = () => [...(resource?.acceptedLosses ?? [])];
    const meanwhile: string[][] = [];
    const committer = {
      change: async () => undefined,
      between: async () => void meanwhile.push(accepted()),
    };
    const loop = { engine, committer, tasks: [], agenda: null } as unknown as Loop;
    await createOrder(database.kysely, {
      source: 'main',
      resource: 'invoices',
      kind: 'sync',
      acceptLosses: ['amount'],
    });
    await takeOrders(loop, () => true);
    expect([meanwhile, accepted()]).toEqual([[[]], ['amount']]);
    await engine.close();
  });
  await sandbox.close();
});
