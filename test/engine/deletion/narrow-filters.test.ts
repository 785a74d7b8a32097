import { expect, test } from 'vitest';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { DAY, MINUTE } from '../../../src/clock.ts';
import type { Engine } from '../../../src/engine/run/engine.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

interface Given {
  readonly sandbox: Sandbox;
  readonly engine: Engine;
  readonly database: Database;
  /** Invoices with a customer and a date, the oldest id first. */
  readonly invoices: readonly { readonly id: number; readonly customer: string; readonly date: string }[];
  readonly deleted: () => Promise<string[]>;
  readonly later: () => Promise<void>;
}

async function withInvoices(rows: 'all' | 'newer', fn: (given: Given) => Promise<void>): Promise<void> {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const size = { customers: 30, invoices: 100, transactions: 1 };
    const sandbox = await openSandbox({ size, rateLimit: 0, clock, variants: { 'customer-rows': rows } });
    // Pages this small split the list into windows.
    const engine = await openEngine(database, sandbox, {
      ...{ clock, limit: 100_000, resources: ['invoices'], pageSize: 5, lagMs: MINUTE },
    });
    await serveOrders(engine, 'sync', { whole: true });
    await clock.advance(2 * MINUTE);
    await fn({
      sandbox,
      engine,
      database,
      invoices: [...sandbox.rows('invoices')]
        .map(({ id, customer_id, date }) => ({ id, customer: String(customer_id), date: String(date) }))
        .filter(({ date }) => date.startsWith('2')),
      async deleted() {
        const { rows: history } = await database.query<{ key: string }>(
          "select key from warehouse.row_history where ended_by = 'deleted' order by key",
        );
        return history.map(({ key }) => key);
      },
      later: () => clock.advance(2 * MINUTE),
    });
    await engine.close();
    await sandbox.close();
  });
}

test('an invoice that moved is not deleted because the customer filter, although it counts, shows only newer invoices', async () => {
  await withInvoices('newer', async ({ sandbox, engine, database, invoices, deleted }) => {
    const [oldest, moved] = [invoices[10], invoices[40]];
    sandbox.update('invoices', moved?.id ?? 0, { date: oldest?.date as string });
    // Only its former window is read.
    await serveOrders(engine, 'backfill', { dateFrom: String(moved?.date), dateTo: String(moved?.date) });
    expect(await deleted()).toEqual([]);
    await serveOrders(engine, 'sync', { whole: true });
    expect(await deleted()).toEqual([]);
    expect(await differences(database, sandbox, 5, ['invoices'])).toEqual([]);
  });
});

test('a customer filter that lacks invoices which their windows still show confirms no deletion; the windows do', async () => {
  await withInvoices('newer', async ({ sandbox, engine, database, invoices, deleted, later }) => {
    const gone = invoices[40];
    expect(invoices.slice(0, 40).some(({ customer }) => customer === gone?.customer)).toBe(true);
    sandbox.remove('invoices', gone?.id ?? 0);
    for (let round = 0; round < 3; round++) {
      await serveOrders(engine, 'sync', { whole: true });
      await later();
    }
    expect(await deleted()).toEqual([String(gone?.id)]);
    expect(await differences(database, sandbox, 5, ['invoices'])).toEqual([]);
    const { rows: traits } = await database.query(
      "select value from sluice.traits where resource = 'invoices' and trait = 'filter customer_id'",
    );
    expect(traits).toEqual([{ value: 'cut' }]);
  });
});

test('all invoices of a customer that are deleted at once are confirmed by its empty list, once every window lacks them', async () => {
  await withInvoices('all', async ({ sandbox, engine, database, invoices, deleted, later }) => {
    const customer = invoices[40]?.customer;
    const gone = invoices.filter(each => each.customer === customer);
    expect(gone.length).toBeGreaterThan(1);
    for (const { id } of gone) sandbox.remove('invoices', id);
    for (let round = 0; round < 2; round++) {
      await serveOrders(engine, 'sync', { whole: true });
      await later();
    }
    expect((await deleted()).map(Number).sort((a, b) => a - b)).toEqual(gone.map(({ id }) => id));
    expect(await differences(database, sandbox, 5, ['invoices'])).toEqual([]);
    const { rows: traits } = await database.query("select value from sluice.traits where trait = 'filter customer_id'");
    expect(traits).toEqual([]);
  });
});

/** The first two days of a month, and the last two. */
function edgesOf(month: string): string[] {
  const first = Date.parse(`${month}-01`);
  const next = Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1);
  return [first, first + DAY, next - DAY, next - 2 * DAY].map(day => new Date(day).toISOString().slice(0, 10));
}

test.each(['later', 'earlier'])(
  'windows are used although the filter is of another time zone and selects days that are one %s',
  async shift => {
    await withDatabase(async database => {
      const size = { customers: 20, invoices: 200, transactions: 200 };
      const sandbox = await openSandbox({
        size,
        rateLimit: 0,
        variants: parseVariants(`date-filter=${shift},order=shuffled`),
      });
      const resources = ['invoices', 'transactions'] as const;
      // All rows lie at the edges of windows.
      for (const resource of resources)
        for (const [index, { id, date }] of [...sandbox.rows(resource)].entries()) {
          const month = String(date).slice(0, 7);
          if (/^2\d{3}-\d\d$/.test(month)) sandbox.update(resource, id, { date: edgesOf(month)[index % 4] ?? null });
        }
      const engine = await openEngine(database, sandbox, { limit: 100_000, pageSize: 5, resources });
      for (let turn = 0; turn < 3; turn++) {
        const orders = await serveOrders(engine, 'sync');
        expect(orders.map(order => order.reason ?? order.state)).toEqual(['done', 'done']);
        expect(await differences(database, sandbox, 5, resources)).toEqual([]);
        for (let times = 0; times < 5; times++)
          for (const kind of ['invoice-edited', 'invoice-moved', 'invoice-new', 'transaction-new'] as const)
            sandbox.change(kind);
        for (const resource of resources)
          sandbox.remove(resource, [...sandbox.rows(resource)][20 * turn]?.id as number);
      }
      expect((await database.query("select from sluice.traits where trait = 'date filter'")).rows).toEqual([]);
      await engine.close();
      await sandbox.close();
    });
  },
);
