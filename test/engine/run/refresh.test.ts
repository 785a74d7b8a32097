import { expect, test } from 'vitest';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { HOUR, MINUTE } from '../../../src/clock.ts';
import { runLoop } from '../../../src/engine/run/loop.ts';
import { createOrder, readOrders } from '../../../src/warehouse/ledgers/orders.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { oneGrantAtATime, openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const SIZE = { customers: 60, invoices: 400, transactions: 300 };

const SOURCES = [
  '',
  'order=shuffled',
  'date-filter=ignored',
  'filters=ignored',
  'paging=no-meta',
  'transaction-ids=no',
];

test.each(some(SOURCES, 3))('a refresh makes the rows equal that it names, in few requests (%s)', async text => {
  const variants = parseVariants(text);
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants });
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const options = { clock, wrapBudget: oneGrantAtATime(clock), limit: 100_000 };
    const engine = await openEngine(database, sandbox, options);
    await serveOrders(engine, 'sync', { whole: true });
    for (const [resource, target] of [
      ['customers', 'one'],
      ['invoices', 'one'],
      ['invoices', 'customer_id'],
      ['transactions', 'date'],
    ] as const) {
      const rows = [...sandbox.rows(resource)] as { id: number; date: string; customer_id: number }[];
      const row = rows[Math.floor(rows.length / 3)] as (typeof rows)[number];
      const isIgnored = text === 'filters=ignored' && target === 'customer_id';
      if (isIgnored) continue;
      await clock.advance(HOUR);
      if (resource === 'customers') sandbox.update('customers', row.id, { phone: '1' });
      else if (resource === 'invoices') sandbox.update('invoices', row.id, { notes: target });
      else sandbox.remove('transactions', row.id);
      const before = sandbox.stats.total;
      const targets = {
        one: `one ${row.id}`,
        customer_id: `customer_id=${row.customer_id}`,
        date: `date ${row.date}..${row.date}`,
      };
      await clock.advance(MINUTE);
      const order = { source: engine.source, kind: 'refresh', resource, targets: [targets[target]] } as const;
      const { id } = await createOrder(database.kysely, order);
      await runLoop(engine, { orders: each => each.id === id, slots: false }, new AbortController().signal);
      expect(await readOrders(database.kysely, [id])).toMatchObject([{ state: 'done', reason: null }]);
      expect(sandbox.stats.total - before).toBeLessThanOrEqual(target === 'date' || text.includes('ignored') ? 12 : 2);
      // Whether the row is gone may take more than one reading to prove.
      const { rows: missing } = await database.query('select key from sluice.missing');
      const left = await differences(database, sandbox, 1000, [resource]);
      expect(left.length).toBe(missing.length);
      expect(missing).toEqual(left.length === 0 ? [] : [{ key: String(row.id) }]);
    }
    await engine.close();
  });
  await sandbox.close();
});
