import { expect, test, vi } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { MINUTE } from '../../../src/clock.ts';
import { isAffordable } from '../../../src/engine/agenda/affordable.ts';
import { freshness } from '../../../src/warehouse/ledgers/incidents.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

vi.setConfig({ testTimeout: 120_000 });

test('everything is read again only for half of the hourly limit, and only from what is left now', () => {
  expect(isAffordable(500, { hourly: 1000, free: 1000 })).toBe(true);
  expect(isAffordable(501, { hourly: 1000, free: 1000 })).toBe(false);
  expect(isAffordable(400, { hourly: 1000, free: 400 })).toBe(true);
  expect(isAffordable(400, { hourly: 1000, free: 399 })).toBe(false);
});

test('a second sync a minute after the first spends what is left and ends, and a whole one waits and reads everything', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const limit = 72;
    // A run looks for new orders every five seconds while it waits: 720 times in an hour.
    const windowMs = 10 * MINUTE;
    const sandbox = await openSandbox({ clock, rateLimit: limit, rateWindowMs: windowMs });
    const engine = await openEngine(database, sandbox, { clock, limit, windowMs });
    const sync = async (details: { whole?: boolean } = {}) => {
      await clock.advance(MINUTE);
      const before = { time: clock.now(), requests: sandbox.stats.total };
      const orders = await serveOrders(engine, 'sync', details);
      expect(orders.map(order => order.state)).toEqual(['done', 'done', 'done']);
      return { waitedMs: clock.now() - before.time, requests: sandbox.stats.total - before.requests };
    };
    // The second reads everything again, after which a few requests are left.
    await sync();
    await sync();
    const left = limit - sandbox.stats.total;
    expect(left).toBeLessThan(20);
    sandbox.change('invoice-edited');
    const third = await sync();
    // Virtual time passes during real work; until a request comes free again, it would be minutes.
    expect(third.waitedMs).toBeLessThan(MINUTE);
    expect(third.requests).toBeGreaterThan(0);
    expect(third.requests).toBeLessThanOrEqual(left);
    expect((await sync({ whole: true })).waitedMs).toBeGreaterThan(windowMs / 2);
    expect(await differences(database, sandbox)).toEqual([]);
    await engine.close();
    await sandbox.close();
  });
});

test('a sync to which nothing of the limit is left ends without a request and without waiting, and makes nothing fresh', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const limit = 72;
    const sandbox = await openSandbox({ clock, rateLimit: limit });
    const engine = await openEngine(database, sandbox, { clock, limit });
    await serveOrders(engine, 'sync');
    await clock.advance(MINUTE);
    const waiting = new AbortController();
    for (let left = limit - sandbox.stats.total; left > 0; left--)
      await engine.client.list(
        '/api/v2/users',
        {},
        { page: 1, limit: 1 },
        { lane: 'live', purpose: 'test', signal: waiting.signal },
      );
    const before = { time: clock.now(), requests: sandbox.stats.total };
    const orders = await serveOrders(engine, 'sync');
    expect(orders.map(({ state }) => state)).toEqual(['done', 'done', 'done']);
    expect([clock.now() - before.time, sandbox.stats.total - before.requests]).toEqual([0, 0]);
    for (const { ageSeconds } of await freshness(database.kysely, 'main', ['customers', 'invoices', 'transactions']))
      expect(ageSeconds).toBeGreaterThanOrEqual(60);
    await engine.close();
    await sandbox.close();
  });
});
