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
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    // Its clock too: how many windows a row may have moved through depends on the day.
    const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants, clock });
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
      // Without counts, the two windows that may show a removed row are read to their ends, twice: 14 pages.
      const most = text === 'paging=no-meta' ? 14 : 12;
      expect(sandbox.stats.total - before).toBeLessThanOrEqual(
        target === 'date' || text.includes('ignored') ? most : 2,
      );
      // Whether the row is gone may take more than one reading to prove.
      const { rows: missing } = await database.query('select key from sluice.missing');
      const left = await differences(database, sandbox, 1000, [resource]);
      expect(left.length).toBe(missing.length);
      expect(missing).toEqual(left.length === 0 ? [] : [{ key: String(row.id) }]);
    }
    await engine.close();
    await sandbox.close();
  });
});

test('of a window of several pages, a refresh reads only the days that it names', async () => {
  const sandbox = await openSandbox({ size: { customers: 1, invoices: 1, transactions: 6000 }, rateLimit: 0 });
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const engine = await openEngine(database, sandbox, { clock, limit: 100_000, resources: ['transactions'] });
    await serveOrders(engine, 'sync', { whole: true });
    const refresh = async (target: string) => {
      await clock.advance(HOUR);
      const before = sandbox.stats.total;
      const order = { source: engine.source, kind: 'refresh', resource: 'transactions', targets: [target] } as const;
      const { id } = await createOrder(database.kysely, order);
      await runLoop(engine, { orders: each => each.id === id, slots: false }, new AbortController().signal);
      expect(await readOrders(database.kysely, [id])).toMatchObject([{ state: 'done', reason: null }]);
      const requests = sandbox.stats.total - before;
      return { requests, wrong: await differences(database, sandbox, 1000, ['transactions']) };
    };
    const rows = [...sandbox.rows('transactions')];
    const [edited, moved, removed] = [rows[2000], rows[3000], rows[4000]];
    if (!edited || !moved || !removed) throw new Error('too few rows');
    sandbox.update('transactions', edited.id, { description: 'edited' });
    expect(await refresh(`one ${edited.id}`)).toEqual({ requests: 1, wrong: [] });
    sandbox.update('transactions', moved.id, { date: edited.date });
    expect(await refresh(`date ${edited.date}..${edited.date}`)).toEqual({ requests: 1, wrong: [] });
    sandbox.remove('transactions', removed.id);
    // Another window may show it: only all of them prove that it is gone.
    const gone = await refresh(`one ${removed.id}`);
    expect(gone).toEqual({ requests: 2, wrong: [`transactions ${removed.id} is not at the source`] });
    expect((await database.query('select key from sluice.missing')).rows).toEqual([{ key: String(removed.id) }]);
    await engine.close();
  });
  await sandbox.close();
});
