import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { HOUR, MINUTE } from '../../../src/clock.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { oneGrantAtATime, openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const OF_FIVE = 'that is more than half of 5, which is believed after 3 readings over 24 hours';

test('a small list that suddenly shows nothing keeps its rows, is believed after three readings over a day, and is revived', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, '2026-01-15T10:00:00.000Z');
    const size = { customers: 5, invoices: 5, transactions: 5 };
    const sandbox = await openSandbox({ size, rateLimit: 0, clock, latencyMs: 5 });
    const engine = await openEngine(database, sandbox, { clock, limit: 100_000 });
    const sync = async () => (await serveOrders(engine, 'sync')).map(({ state, reason }) => reason ?? state);
    const stored = async () =>
      (
        await database.query<{ n: number }>(
          `select ((select count(*) from warehouse.customers) + (select count(*) from warehouse.invoices)
          + (select count(*) from warehouse.transactions))::int as n`,
        )
      ).rows[0]?.n;
    expect(await sync()).toEqual(['done', 'done', 'done']);

    sandbox.setVariants({ visible: 'none' });
    for (const hours of [0, 1, 20]) {
      await clock.advance(hours * HOUR + 1000);
      for (const reason of await sync()) expect(reason).toContain(OF_FIVE);
      expect(await stored()).toBe(15);
    }
    // The outage ends: nothing was lost.
    sandbox.setVariants({ visible: 'all' });
    await clock.advance(HOUR);
    expect(await sync()).toEqual(['done', 'done', 'done']);
    expect(await differences(database, sandbox)).toEqual([]);

    // Now it lasts.
    sandbox.setVariants({ visible: 'none' });
    for (const hours of [1, 12, 11]) {
      await clock.advance(hours * HOUR);
      for (const reason of await sync()) expect(reason).toContain(OF_FIVE);
    }
    await clock.advance(2 * HOUR);
    expect(await sync()).toEqual(['done', 'done', 'done']);
    expect(await stored()).toBe(0);
    await engine.close();
    await sandbox.close();
  });
});

test('invoices that half of a window and the lists of their customers lack at once are not deleted for that', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, '2026-01-15T10:00:00.000Z');
    const size = { customers: 40, invoices: 60, transactions: 5 };
    const sandbox = await openSandbox({ size, rateLimit: 0, clock, variants: { paging: 'whole' } });
    // Half of them are old, each of another customer.
    for (let id = 1; id <= 60; id++)
      sandbox.update('invoices', id, id > 30 ? { customer_id: 1 } : { customer_id: 1 + id, date: '2022-05-05' });
    const options = { clock, limit: 100_000, lagMs: MINUTE, wrapBudget: oneGrantAtATime(clock) };
    const engine = await openEngine(database, sandbox, { ...options, resources: ['invoices'] });
    const sync = async () => {
      await clock.advance(HOUR);
      const orders = await serveOrders(engine, 'sync', { whole: true });
      return orders.map(({ state, reason }) => reason ?? state);
    };
    for (let turn = 0; turn < 3; turn++) expect(await sync()).toEqual(['done']);

    sandbox.failNext('rows-missing', 1, /date_to=/);
    sandbox.failNext('rows-missing', 40, /customer_id=/);
    expect(await sync()).toEqual(['done']);
    expect(await differences(database, sandbox, 8, ['invoices'])).toEqual([]);
    expect((await database.query('select from sluice.missing')).rows).toEqual([]);
    sandbox.forgetFaults();

    // What has really gone takes more readings; how many of them a sync makes depends on the order of the answers.
    for (let id = 1; id <= 15; id++) sandbox.remove('invoices', id);
    for (let turn = 0; turn < 3; turn++) await sync();
    expect(await differences(database, sandbox, 8, ['invoices'])).toEqual([]);
    await engine.close();
    await sandbox.close();
  });
});

test('half of a list that a cache hides again and again is kept until a later answer shows it', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, '2026-01-15T10:00:00.000Z');
    const sandbox = await openSandbox({ rateLimit: 0, clock, variants: { paging: 'whole', stale: 'cache' } });
    const resources = ['orders'] as const;
    const engine = await openEngine(database, sandbox, { clock, limit: 100_000, lagMs: MINUTE, resources });
    const sync = async () => (await serveOrders(engine, 'sync')).map(({ state, reason }) => reason ?? state);
    const missing = async () =>
      (await database.query('select count(*)::int as rows, max(readings) as readings from sluice.missing')).rows[0];
    expect(await sync()).toEqual(['done']);
    expect(await sync()).toEqual(['done']);
    await clock.advance(2 * MINUTE);

    // The damaged answer stays in the cache.
    sandbox.failNext('rows-missing', 1, /orders/);
    for (let turn = 0; turn < 4; turn++) expect(await sync()).toEqual(['done']);
    const rows = [...sandbox.rows('orders')].length;
    expect(await missing()).toEqual({ rows: Math.ceil(rows / 2), readings: 1 });
    await clock.advance(2 * MINUTE);
    expect(await sync()).toEqual(['done']);
    expect(await missing()).toEqual({ rows: 0, readings: null });
    expect(await differences(database, sandbox, 8, resources)).toEqual([]);
    await engine.close();
    await sandbox.close();
  });
});
