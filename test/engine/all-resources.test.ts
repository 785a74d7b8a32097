import { expect, test } from 'vitest';
import { openSandbox } from '../../src/sandbox/sandbox.ts';
import { differences } from '../support/compare.ts';
import { withDatabase } from '../support/database.ts';
import { ALL } from '../support/resources.ts';
import { openEngine, serveOrders } from '../support/source.ts';

test('all resources are equal after one sync', async () => {
  const sandbox = await openSandbox({ size: 'small', rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ALL });
    const orders = await serveOrders(engine, 'sync');
    expect(orders.map(({ resource, reason, state }) => [resource, reason ?? state])).toEqual(
      ALL.map(each => [each, 'done']),
    );
    expect(await differences(database, sandbox, 5, ALL)).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});
