import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { DAY } from '../../../src/clock.ts';
import { closeMonth } from '../../../src/service/orders/close-month.ts';
import { until } from '../../cli/run-command.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { servedSource } from '../with-service.ts';

test('a month is closed although a reading commits, which changes none of its rows, between its snapshot and a lock', async () => {
  const sandbox = await openSandbox({ size: 'small', rateLimit: 0 });
  await withDatabase(async (database, own) => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['invoices', 'transactions'] });
    await serveOrders(engine, 'sync');
    const month = new Date(sandbox.now() - 40 * DAY).toISOString().slice(0, 7);
    const closing = await own.open('closing');
    const closed = await database.transaction(async tx => {
      await tx.query('update sluice.cursors set version = version + 1');
      const closed = closeMonth(closing, servedSource(database), month);
      await until(async () => {
        const { rows } = await database.query(
          `select from pg_stat_activity where datname = current_database() and application_name = 'closing' and wait_event_type = 'Lock'`,
        );
        return rows.length > 0;
      });
      return { closed };
    });
    expect(await closed.closed).toMatchObject({ month, isNew: true });
    await closing.close();
    await engine.close();
  });
  await sandbox.close();
});
