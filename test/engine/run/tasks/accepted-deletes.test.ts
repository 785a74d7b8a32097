import { expect, test } from 'vitest';
import { openSandbox } from '../../../../sandbox/sandbox.ts';
import type { LoopEvent } from '../../../../src/engine/run/engine.ts';
import { isKind } from '../../../../src/errors.ts';
import { adoptOrder } from '../../../../src/warehouse/ledgers/orders.ts';
import { differences } from '../../../support/compare.ts';
import { withDatabase } from '../../../support/database.ts';
import { some } from '../../../support/long.ts';
import { openEngine, serveOrders } from '../../../support/source.ts';

const GONE = 60;

test.each(
  some(
    [
      { when: 'before any of them is missing', isTime: () => true },
      {
        when: 'once they were held back',
        isTime: (event: LoopEvent) => 'task' in event && isKind(event.task.state.failure, 'fuse'),
      },
    ],
    1,
  ),
)('a running sync deletes as many rows as an equal order accepts meanwhile, $when', async ({ isTime }) => {
  const sandbox = await openSandbox({
    size: { customers: 10, invoices: 200, transactions: 5 },
    rateLimit: 0,
    latencyMs: 100,
  });
  await withDatabase(async database => {
    const adopted: Promise<unknown>[] = [];
    let armed = false;
    const engine = await openEngine(database, sandbox, {
      ...{ limit: 100_000, resources: ['invoices'], pageSize: 20, concurrency: 1 },
      onEvent(event) {
        if (!armed || adopted.length > 0 || event.kind !== 'committed' || !isTime(event)) return;
        const same = { source: 'main', resource: 'invoices', kind: 'sync', dateFrom: null, dateTo: null } as const;
        const order = { ...same, repair: false, whole: true, acceptDeletes: GONE };
        adopted.push(adoptOrder(database.kysely, order));
      },
    });
    await serveOrders(engine, 'sync');
    // Those in between: the rest is read afterwards.
    for (const { id } of [...sandbox.rows('invoices')].slice(100, 100 + GONE)) sandbox.remove('invoices', id);
    armed = true;
    const [order] = await serveOrders(engine, 'sync', { whole: true });
    expect(await Promise.all(adopted)).toMatchObject([{ id: order?.id, acceptDeletes: GONE }]);
    expect(order).toMatchObject({ state: 'done', reason: null, acceptDeletes: GONE, deleted: GONE });
    expect(await differences(database, sandbox, 8, ['invoices'])).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});
