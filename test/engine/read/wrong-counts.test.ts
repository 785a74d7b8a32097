import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import { MINUTE } from '../../../src/clock.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { openProxy } from '../../conformance/tests/proxy.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { long, some } from '../../support/long.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const SIZE = { customers: 60, invoices: 90, transactions: 1500 };

async function withSource(
  variants: Partial<Variants>,
  fn: (given: {
    sandbox: Sandbox;
    database: Database;
    sync: () => Promise<string[]>;
    warnings: string[];
  }) => Promise<void>,
  size = SIZE,
) {
  const { log, lines: warnings } = createLogLines('warn');
  const sandbox = await openSandbox({ size, rateLimit: 0, variants });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, log });
    const sync = async () => (await serveOrders(engine, 'sync')).map(({ state, reason }) => reason ?? state);
    await fn({ sandbox, database, sync, warnings });
    await engine.close();
  });
  await sandbox.close();
}

test('a count that ignores the filter costs a few requests, and deleted rows leave', async () => {
  await withSource({ totals: 'unfiltered' }, async ({ sandbox, database, sync }) => {
    expect(await sync()).toEqual(['done', 'done', 'done']);
    expect(sandbox.stats.total).toBeLessThan(120);
    sandbox.changeRandom(40);
    expect(await sync()).toEqual(['done', 'done', 'done']);
    expect(await differences(database, sandbox)).toEqual([]);
    expect(sandbox.stats.total).toBeLessThan(300);
  });
});

test("a customer's list that is counted like the whole one is not believed, also where its end is a 404 without a count", async () => {
  const variants = { totals: 'unfiltered', 'past-end': '404', order: 'shuffled' } as const;
  const sandbox = await openSandbox({ size: { ...SIZE, transactions: 20 }, rateLimit: 0, variants });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, pageSize: 20 });
    await serveOrders(engine, 'sync');
    sandbox.change('invoice-deleted');
    for (let runs = 0; runs < 2; runs++) await serveOrders(engine, 'sync');
    expect(await differences(database, sandbox)).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test('a list in id order whose count is doubled, and whose pages have a size of their own, is believed by its rows in the end', async () => {
  const variants = { totals: 'doubled', 'limit-max': 'ignored', order: 'id-desc', visible: 'half' } as const;
  const sandbox = await openSandbox({ size: { ...SIZE, customers: 30 }, rateLimit: 0, variants });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, pageSize: 20, resources: ['customers'] });
    for (let runs = 0; runs < 3; runs++) await serveOrders(engine, 'sync');
    expect((await serveOrders(engine, 'sync')).map(({ state, reason }) => reason ?? state)).toEqual(['done']);
    await engine.close();
  });
  await sandbox.close();
});

test.each(some(['with-deleted', 'doubled'] as const, 1))(
  'a count that is always wrong (%s) fails two runs; the third believes the rows and says so once',
  async totals => {
    await withSource(
      { totals },
      async ({ sandbox, database, sync, warnings }) => {
        for (const run of [1, 2])
          for (const reason of await sync())
            expect([run, reason]).toEqual([run, expect.stringContaining('does not add up')]);
        expect(await sync()).toEqual(['done', 'done', 'done']);
        const { rows } = await database.query(
          `select resource, value from sluice.traits where trait = 'counts' order by 1`,
        );
        expect(rows).toEqual(
          ['customers', 'invoices', 'transactions'].map(resource => ({ resource, value: 'unreliable' })),
        );
        sandbox.changeRandom(30);
        expect(await sync()).toEqual(['done', 'done', 'done']);
        expect(await differences(database, sandbox)).toEqual([]);
        const said = warnings.filter(each => each.includes('the count of this list is wrong'));
        expect(said.map(each => (JSON.parse(each) as { resource: string }).resource).sort()).toEqual([
          'customers',
          'invoices',
          'transactions',
        ]);
      },
      { ...SIZE, transactions: 600 },
    );
  },
);

long('once one count was wrong three times, the other windows of the run are read once each', async () => {
  const variants = { totals: 'doubled', 'transaction-ids': 'no' } as const;
  const sandbox = await openSandbox({ size: { ...SIZE, transactions: 400 }, rateLimit: 0, variants });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, pageSize: 10, resources: ['transactions'] });
    const [order] = await serveOrders(engine, 'backfill');
    expect(order?.reason).toContain('does not add up');
    // Each window three times: 721. How many were read twice by then depends on the order of answers: 396 to 500.
    expect(sandbox.stats.total).toBeLessThan(600);
    await engine.close();
  });
  await sandbox.close();
});

test('a run that finds the count wrong and has no request left counts as one of the three', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    // A run looks for new orders every five seconds while it waits: 720 times in an hour.
    const windowMs = 10 * MINUTE;
    const sandbox = await openSandbox({ clock, size: SIZE, rateLimit: 0, variants: { totals: 'doubled' } });
    for (let runs = 0; runs < 3; runs++) {
      // Enough to read each list three times, and too little for another one.
      const limited = { clock, limit: 14, windowMs };
      const engine = await openEngine(database, sandbox, { ...limited, resources: ['customers', 'invoices'] });
      await serveOrders(engine, 'sync');
      await engine.close();
      await clock.advance(windowMs);
    }
    const { rows } = await database.query(`select value from sluice.traits where trait = 'counts'`);
    expect(rows).toEqual([{ value: 'unreliable' }, { value: 'unreliable' }]);
    await sandbox.close();
  });
});

long('a list whose count includes deleted rows is read to its end, however few rows the last page holds', async () => {
  const variants = { totals: 'with-deleted', 'past-end': 'empty', 'no-rows': 'list' } as const;
  for (const left of [34, 37, 40, 43]) {
    const sandbox = await openSandbox({ size: { ...SIZE, customers: 52 }, rateLimit: 0, variants });
    const customers = [...sandbox.rows('customers')].map(({ id }) => id);
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, pageSize: 20, resources: ['customers'] });
      await serveOrders(engine, 'sync');
      for (const id of customers.slice(6, 6 + customers.length - left)) sandbox.remove('customers', id);
      // The count is believed to be wrong after three runs.
      for (let turn = 0; turn < 3; turn++) await serveOrders(engine, 'sync');
      expect(await serveOrders(engine, 'sync')).toMatchObject([{ state: 'done' }]);
      expect(await differences(database, sandbox, 8, ['customers'])).toEqual([]);
      await engine.close();
    });
    await sandbox.close();
  }
});

test('a count that was off for a while is believed again once it agrees with the rows of the slice where it was off', async () => {
  const sandbox = await openSandbox({ size: { customers: 20, invoices: 60, transactions: 20 }, rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['invoices'], pageSize: 20 });
    const counts = async () => {
      const { rows } = await database.query<{ value: string }>(
        "select value from sluice.traits where trait = 'counts'",
      );
      return rows.map(({ value }) => value);
    };
    await serveOrders(engine, 'sync', { whole: true });
    sandbox.setVariants({ totals: 'with-deleted' });
    await serveOrders(engine, 'sync', { whole: true });
    expect(await counts()).toEqual([expect.stringMatching(/^doubted once: /)]);
    sandbox.setVariants({ totals: 'matching' });
    await serveOrders(engine, 'sync', { whole: true });
    expect(await counts()).toEqual(['agree']);
    await engine.close();
  });
  await sandbox.close();
});

long('a count that is estimated anew for each answer fails two runs at most; the third believes the rows', async () => {
  await withSource({ estimates: 'yes' }, async ({ sandbox, database, sync }) => {
    for (let runs = 0; runs < 2; runs++) await sync();
    expect(await sync()).toEqual(['done', 'done', 'done']);
    sandbox.changeRandom(40);
    for (let runs = 0; runs < 2; runs++) expect(await sync()).toEqual(['done', 'done', 'done']);
    expect(await differences(database, sandbox)).toEqual([]);
  });
});

test('the counts of a list are believed, although one page of each reading is counted wrongly', async () => {
  const sandbox = await openSandbox({ size: { customers: 60, invoices: 10, transactions: 300 }, rateLimit: 0 });
  const url = await openProxy(sandbox, (answer, { path, query }) => {
    if (path !== '/api/v2/transactions' || query.get('page') !== '2') return answer;
    const { meta, ...body } = answer.body as { meta: { total_records: number } };
    return { ...answer, body: { ...body, meta: { ...meta, total_records: meta.total_records + 3 } } };
  });
  await withDatabase(async database => {
    const options = { limit: 100_000, resources: ['transactions'] as const, pageSize: 20 };
    const engine = await openEngine(database, { ...sandbox, url }, options);
    for (let runs = 0; runs < 4; runs++) await serveOrders(engine, 'sync', { whole: true });
    const { rows } = await database.query(`select value from sluice.traits where trait = 'counts'`);
    expect(rows).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});
