import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { HOUR, MINUTE } from '../../../src/clock.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { oneGrantAtATime, openEngine, serveOrders, serveTick } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

test('a list that answers 404 while it is empty fails no run, and is read as soon as it has rows', async () => {
  const size = { customers: 0, invoices: 40, transactions: 0 };
  const sandbox = await openSandbox({ size, rateLimit: 0, variants: { 'no-rows': '404' } });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000 });
    const states = async () => (await serveOrders(engine, 'sync')).map(({ state }) => state);
    expect(await states()).toEqual(['done', 'done', 'done']);
    expect(await states()).toEqual(['done', 'done', 'done']);
    for (let times = 0; times < 3; times++) {
      sandbox.change('customer-new');
      sandbox.change('transaction-new');
    }
    expect(await states()).toEqual(['done', 'done', 'done']);
    expect(await differences(database, sandbox)).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test.each(['null', 'object', 'message'] as const)(
  'windows and lists without rows are read whatever form an empty answer has: %s',
  async form => {
    const size = { customers: 5, invoices: 40, transactions: 0 };
    const sandbox = await openSandbox({ size, rateLimit: 0, variants: { 'empty-form': form } });
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, pageSize: 10 });
      const states = async () => (await serveOrders(engine, 'sync')).map(({ state }) => state);
      expect(await states()).toEqual(['done', 'done', 'done']);
      expect(await differences(database, sandbox)).toEqual([]);
      // A window loses its only row.
      sandbox.change('invoice-deleted');
      sandbox.change('transaction-new');
      await states();
      expect(await states()).toEqual(['done', 'done', 'done']);
      expect(await differences(database, sandbox)).toEqual([]);
      await engine.close();
    });
    await sandbox.close();
  },
);

test('an empty list that answers 404 before any other list was answered waits for them', async () => {
  const size = { customers: 0, invoices: 40, transactions: 0 };
  const sandbox = await openSandbox({ size, rateLimit: 0, variants: { 'no-rows': '404' } });
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    // The first answers for invoices are lost, so that the other lists have long answered 404 by then.
    sandbox.failNext('drop', 4, /invoices/);
    const engine = await openEngine(database, sandbox, { clock, limit: 100_000 });
    expect((await serveOrders(engine, 'sync')).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
    await engine.close();
  });
  await sandbox.close();
});

test.each(some(['id-desc', 'updated-desc'] as const, 1))(
  'a list that loses all of its rows and answers 404 from then on is believed after a day, like one that answers empty: %s',
  async order => {
    await withDatabase(async database => {
      const clock = await createVirtualClock(database);
      const size = { customers: 30, invoices: 30, transactions: 3 };
      const variants = { 'no-rows': '404', order } as const;
      const sandbox = await openSandbox({ size, rateLimit: 0, variants, clock, latencyMs: 5 });
      const engine = await openEngine(database, sandbox, { clock, limit: 100_000 });
      const sync = async () => (await serveOrders(engine, 'sync')).map(({ state, reason }) => reason ?? state);
      expect(await sync()).toEqual(['done', 'done', 'done']);
      for (let times = 0; times < 3; times++) sandbox.change('transaction-deleted');
      for (const hours of [1, 12, 11]) {
        await clock.advance(hours * HOUR);
        expect(await sync()).toEqual(['done', 'done', expect.stringContaining('more than half of 3')]);
      }
      await clock.advance(2 * HOUR);
      expect(await sync()).toEqual(['done', 'done', 'done']);
      expect(await differences(database, sandbox)).toEqual([]);
      await engine.close();
      await sandbox.close();
    });
  },
);

test('a list with rows that answers 404 while no other list is answered keeps them, and names the address', async () => {
  const sandbox = await openSandbox({ size: { customers: 5, invoices: 5, transactions: 5 }, rateLimit: 0 });
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const before = await openEngine(database, sandbox, { clock, limit: 100_000 });
    await serveOrders(before, 'sync');
    await before.close();
    await clock.advance(2 * HOUR);
    const elsewhere = { ...sandbox, url: `${sandbox.url}/old` } as Sandbox;
    const engine = await openEngine(database, elsewhere, { clock, limit: 100_000 });
    for (const { reason } of await serveOrders(engine, 'sync'))
      expect(reason).toMatch(/^The source has no .*SOURCE_URL/);
    const { rows } = await database.query('select key from sluice.missing');
    expect(rows).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test('if every list answers 404, the address is wrong', async () => {
  const sandbox = await openSandbox({ size: { customers: 5, invoices: 5, transactions: 5 }, rateLimit: 0 });
  await withDatabase(async database => {
    const elsewhere = { ...sandbox, url: `${sandbox.url}/old` } as Sandbox;
    const engine = await openEngine(database, elsewhere, { limit: 100_000 });
    for (const { reason } of await serveOrders(engine, 'sync'))
      expect(reason).toMatch(/^The source has no .*SOURCE_URL/);
    expect(sandbox.stats.total).toBeLessThan(30);
    await engine.close();
  });
  await sandbox.close();
});

test('a window and its customers that answer 404 while nothing is answered lose no row, and the run fails', async () => {
  const size = { customers: 20, invoices: 100, transactions: 5 };
  const sandbox = await openSandbox({ size, rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, pageSize: 5 });
    await serveOrders(engine, 'sync');
    const { rows: windows } = await database.query<{ slice: string }>(
      `select slice from sluice.coverage
       where resource = 'invoices' and slice like 'date 2%..2%' and rows between 5 and 19 order by slice`,
    );
    const [dateFrom = '', dateTo = ''] = windows[0]?.slice.slice('date '.length).split('..') ?? [];
    sandbox.failNext('html-404', 1_000_000);
    const orders = await serveOrders(engine, 'backfill', { dateFrom, dateTo });
    sandbox.forgetFaults();
    const invoices = orders.find(({ resource }) => resource === 'invoices');
    expect([invoices?.state, invoices?.reason]).toEqual(['failed', expect.stringMatching(/has no .*SOURCE_URL|404/)]);
    expect(await differences(database, sandbox)).toEqual([]);
    expect(await database.query("select key from sluice.missing where resource = 'invoices'")).toMatchObject({
      rows: [],
    });

    // While a proxy denies just this list, another one is answered: then it may have lost all of its rows, which is not believed at once.
    sandbox.failNext('html-404', 1_000_000, '/invoices');
    await serveOrders(engine, 'sync');
    sandbox.forgetFaults();
    expect(await differences(database, sandbox)).toEqual([]);
    expect((await serveOrders(engine, 'sync')).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
    expect(await differences(database, sandbox)).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test('a window that answers 404 once it is empty is believed, since the list without a filter is answered', async () => {
  const size = { customers: 20, invoices: 150, transactions: 5 };
  const sandbox = await openSandbox({ size, rateLimit: 0, variants: { 'no-rows': '404' } });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, pageSize: 5 });
    await serveOrders(engine, 'sync');
    const { rows: windows } = await database.query<{ slice: string }>(
      `select slice from sluice.coverage
       where resource = 'invoices' and slice like 'date 2%..2%' and rows between 5 and 19 order by slice`,
    );
    const [from = '', to = ''] = windows[0]?.slice.slice('date '.length).split('..') ?? [];
    for (const { id, date } of [...sandbox.rows('invoices')])
      if (date !== null && date >= from && date <= to) sandbox.remove('invoices', id);
    expect((await serveOrders(engine, 'sync')).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
    expect(await differences(database, sandbox)).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test.each([
  ['sync', 18],
  ['service', 20],
] as const)(
  'windows that are empty while the source is out of order are read again, as the list counts their rows (%s)',
  async (by, times) => {
    await withDatabase(async database => {
      const clock = await createVirtualClock(database);
      const size = { customers: 5, invoices: 5, transactions: 300 };
      const sandbox = await openSandbox({ size, rateLimit: 0, clock, variants: { order: 'date-desc' } });
      const given = { clock, limit: 2000, pageSize: 5, resources: ['transactions'] } as const;
      const engine = await openEngine(database, sandbox, { ...given, wrapBudget: oneGrantAtATime(clock) });
      // The windows beside it, which are asked for with a day more, show none of its rows.
      for (const { id, date } of [...sandbox.rows('transactions')])
        if (/-12-(29|3.)|-01-0[1-3]/.test(String(date))) sandbox.remove('transactions', id);
      sandbox.failNext('empty-message', times, /date_from=2023/);
      await (by === 'sync' ? serveOrders(engine, 'sync') : serveTick(engine));
      sandbox.forgetFaults();
      await clock.advance(MINUTE);
      if (by === 'service') await serveTick(engine);
      expect(await differences(database, sandbox, 5, ['transactions'])).toEqual([]);
      const { rows: traits } = await database.query("select value from sluice.traits where trait = 'undated'");
      expect(traits).toEqual([]);
      await engine.close();
      await sandbox.close();
    });
  },
);
