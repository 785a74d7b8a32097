import { expect, test } from 'vitest';
import { createOrder, openOrders } from '../../../src/warehouse/ledgers/orders.ts';
import { withDatabase } from '../../support/database.ts';

test('an order rests for ten minutes after a run that an outage ended, and not until a clock that was put back comes there again', async () => {
  await withDatabase(async ({ kysely, query }) => {
    const { id } = await createOrder(kysely, { source: 'main', resource: 'users', kind: 'sync' });
    await query(`update sluice.orders set reason = 'The source is down.'`);
    const restsAfter = async (ended: string) => {
      await query('delete from sluice.runs');
      await query(
        `insert into sluice.runs (source, resource, kind, state, order_id, started_at, ended_at)
         values ('main', 'users', 'sync', 'failed', $1, sluice.now(), sluice.now() + cast($2 as interval))`,
        [id, ended],
      );
      return (await openOrders(kysely, 'main')).map(({ rests }) => rests);
    };
    expect(await restsAfter('-1 minute')).toEqual([true]);
    expect(await restsAfter('-11 minutes')).toEqual([false]);
    expect(await restsAfter('3 days')).toEqual([false]);
  });
});
