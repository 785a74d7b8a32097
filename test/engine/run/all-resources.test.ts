import { expect, test } from 'vitest';
import { createRandom } from '../../../sandbox/data/random.ts';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import { chooseVariants, isHonest } from '../../simulation/plan/choose-variants.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { ALL } from '../../support/resources.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

const OTHERWISE: Partial<Variants>[] = [];
for (const random = createRandom(11); OTHERWISE.length < 5; ) {
  const variants = { ...chooseVariants(random, {}, { others: true, seed: 11 }), fault: 'none', stale: 'no' } as const;
  if (isHonest(variants)) OTHERWISE.push(variants);
}

test.each(some([{}, ...OTHERWISE], 1))('all resources are equal after a sync: %o', async variants => {
  const size = { customers: 40, invoices: 60, transactions: 100 };
  const sandbox = await openSandbox({ size, rateLimit: 0, variants });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ALL });
    for (const changes of Object.keys(variants).length === 0 ? [0, 60] : [60]) {
      sandbox.changeRandom(changes);
      sandbox.changeOthers(changes);
      const orders = await serveOrders(engine, 'sync');
      const absent = orders.filter(order => order.reason === 'not offered by this source').map(order => order.resource);
      expect(orders.filter(order => order.state !== 'done')).toEqual([]);
      const { 'other-lists': lists, report } = sandbox.variants;
      expect(absent).toEqual([
        ...(report === 'absent' ? ['financial_summaries'] : []),
        ...(lists === 'list' ? [] : ['orders', 'suppliers', 'purchases']),
      ]);
      expect(await differences(database, sandbox, 5, ALL)).toEqual([]);
    }
    await engine.close();
  });
  await sandbox.close();
});
