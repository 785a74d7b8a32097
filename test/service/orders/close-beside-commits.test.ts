import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { DAY } from '../../../src/clock.ts';
import { closeMonth } from '../../../src/service/orders/close-month.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { untilBlocked } from '../../support/until-blocked.ts';
import { servedSource } from '../with-service.ts';

test('a month is closed although a reading commits, which changes none of its rows, between its snapshot and a lock', async () => {
  const sandbox = await openSandbox({ size: 'small', rateLimit: 0 });
  await withDatabase(
    async (database, own) => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['invoices', 'transactions'] });
      await serveOrders(engine, 'sync');
      const month = new Date(sandbox.now() - 40 * DAY).toISOString().slice(0, 7);
      const closing = await own.open('closing');
      const closed = await database.transaction(async tx => {
        await tx.query('update sluice.cursors set version = version + 1');
        const closed = closeMonth(closing, servedSource(database), month);
        await untilBlocked(database, 'closing');
        return { closed };
      });
      expect(await closed.closed).toMatchObject({ month, isNew: true });
      await closing.close();
      await engine.close();
    },
    { connections: 2 },
  );
  await sandbox.close();
});
