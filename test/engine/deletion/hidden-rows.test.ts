import { expect, test } from 'vitest';
import { isOnPage } from '../../../sandbox/lists/ordering.ts';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { HOUR } from '../../../src/clock.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { openProxy } from '../../conformance/tests/proxy.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { long, some } from '../../support/long.ts';
import { oneGrantAtATime, openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const SIZE = { customers: 400, invoices: 20, transactions: 20 };

test.each(some(['id-desc', 'shuffled', 'id-asc', 'updated-desc'], 1))(
  'pages whose rows are taken out after they were cut are read to the last that the list is counted with (%s)',
  async order => {
    const variants = parseVariants(`pages=thinned,limit-max=ignored,order=${order}`);
    const sandbox = await openSandbox({ size: { ...SIZE, customers: 200 }, rateLimit: 0, variants });
    await withDatabase(async database => {
      const clock = await createVirtualClock(database);
      const options = { clock, wrapBudget: oneGrantAtATime(clock), limit: 100_000, resources: ['customers'] as const };
      const engine = await openEngine(database, sandbox, options);
      const sync = async () => {
        await clock.advance(3_600_000);
        await serveOrders(engine, 'sync', { whole: true });
        const absent = await differences(database, sandbox, 1000, ['customers']);
        const { rows } = await database.query<{ complete: boolean }>(
          `select complete from sluice.complete('-infinity', 'infinity') where resource = 'customers'`,
        );
        if (absent.length > 0) expect(rows, absent[0]).toEqual([{ complete: false }]);
        return absent;
      };
      // Two tasks have to find the count wrong before a third believes the rows.
      for (let times = 0; times < 3; times++) await sync();
      expect(await sync()).toEqual([]);
      const [first, second] = Array.from(sandbox.rows('customers'), ({ id }) => id).filter(id => id > 100 && id < 125);
      sandbox.remove('customers', first as number);
      sandbox.remove('customers', second as number);
      for (let times = 0; times < 3; times++) await sync();
      expect(await sync()).toEqual([]);
      await engine.close();
    });
    await sandbox.close();
  },
);

test('where a short first page only seemed to come in the order of ids, a page that begins with a higher one does not end the list', async () => {
  const variants = parseVariants('pages=thinned,order=updated-desc,date-filter=ignored');
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({ size: { ...SIZE, customers: 200 }, rateLimit: 0, variants, clock });
    const all: Iterable<{ id: number }> = sandbox.data.customers.rows();
    const ids = Array.from(all, ({ id }) => id).sort((one, other) => other - one);
    const visible = ids.filter(id => isOnPage('thinned', id));
    const hidden = ids.filter(id => !isOnPage('thinned', id));
    // The first page shows two rows of ten, as does the second, which has the highest id.
    const newest = [...visible.slice(30, 32), ...hidden.slice(0, 8), ...visible.slice(0, 2), ...hidden.slice(8, 16)];
    for (const id of newest.reverse()) {
      await clock.advance(1000);
      sandbox.update('customers', id, { city: `city of ${id}` });
    }
    const given = { clock, wrapBudget: oneGrantAtATime(clock), limit: 100_000, pageSize: 10 };
    const engine = await openEngine(database, sandbox, { ...given, resources: ['customers'] });
    for (let times = 0; times < 5; times++) {
      await clock.advance(HOUR);
      await serveOrders(engine, 'sync', { whole: true });
    }
    expect(await differences(database, sandbox, 1000, ['customers'])).toEqual([]);
    await engine.close();
    await sandbox.close();
  });
});

test('a list in the order of ids whose count includes rows that it hides is read without it, and loses what is deleted', async () => {
  const variants = parseVariants('pages=thinned,limit-max=100,order=id-desc,other-ids=yes');
  // 29 products, of which the last 5 are hidden.
  const sandbox = await openSandbox({ size: { ...SIZE, customers: 90 }, rateLimit: 0, variants });
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const options = { clock, wrapBudget: oneGrantAtATime(clock), limit: 100_000, resources: ['products'] as const };
    const engine = await openEngine(database, sandbox, { ...options, pageSize: 20 });
    const syncTimes = async (times: number) => {
      for (; times > 0; times--) {
        await clock.advance(HOUR);
        await serveOrders(engine, 'sync', { whole: true });
      }
    };
    await syncTimes(4);
    const { rows } = await database.query(
      `select value from sluice.traits where resource = 'products' and trait = 'counts'`,
    );
    expect(rows).toEqual([{ value: 'unreliable' }]);
    sandbox.remove('products', 4);
    await syncTimes(3);
    expect(await differences(database, sandbox, 1000, ['products'])).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

const LOSSES = [
  ['one row', (rows: object[]) => rows.slice(1)],
  ['all of its rows', () => []],
  ['every second row', (rows: object[]) => rows.filter((_, index) => index % 2 === 1)],
] as const;

long.each(LOSSES)(
  'a page that once came without %s does not change how a list with a wrong count is read',
  async (_what, lose) => {
    const variants = parseVariants('totals=doubled');
    const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants });
    let loses: number | null = null;
    const url = await openProxy(sandbox, (answer, { path, query }) => {
      if (path !== '/api/v2/customers' || Number(query.get('page')) !== loses) return answer;
      loses = null;
      return { ...answer, body: { ...answer.body, data: lose(answer.body.data) } };
    });
    await withDatabase(async database => {
      const clock = await createVirtualClock(database);
      const options = { clock, wrapBudget: oneGrantAtATime(clock), limit: 100_000, resources: ['customers'] as const };
      const engine = await openEngine(database, { ...sandbox, url }, options);
      const sync = async () => {
        await clock.advance(3_600_000);
        await serveOrders(engine, 'sync', { whole: true });
      };
      for (let times = 0; times < 4; times++) await sync();
      for (const page of [1, 2, 3, 4, 5]) {
        loses = page;
        await sync();
        await sync();
      }
      const { rows } = await database.query(
        `select value from sluice.traits where trait in ('order', 'counts') order by 1`,
      );
      expect(rows).toEqual([{ value: 'id-desc' }, { value: 'unreliable' }]);
      expect(await differences(database, sandbox, 10, ['customers'])).toEqual([]);
      await engine.close();
    });
    await sandbox.close();
  },
);

/** A source whose list leaves out these rows of its data, though its counts agree; `sync` returns the requests sent, an hour later. */
async function withHidden(
  resource: 'customers' | 'invoices',
  isHidden: (row: { id: number }, query: URLSearchParams) => boolean,
  work: (given: {
    sandbox: Sandbox;
    database: Database;
    sync: () => Promise<number>;
    pass: (hours: number) => Promise<void>;
  }) => Promise<void>,
): Promise<void> {
  const sandbox = await openSandbox({ size: { customers: 200, invoices: 200, transactions: 20 }, rateLimit: 0 });
  const url = await openProxy(sandbox, (answer, { path, query }) => {
    if (path !== `/api/v2/${resource}`) return answer;
    const data = answer.body.data.filter((row: { id: number }) => !isHidden(row, query));
    const { total_records: total } = answer.body.meta;
    const hidden = [...sandbox.rows(resource)].filter(row => isHidden(row, query)).length;
    return { ...answer, body: { ...answer.body, data, meta: { ...answer.body.meta, total_records: total - hidden } } };
  });
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const options = { clock, wrapBudget: oneGrantAtATime(clock), limit: 100_000, resources: [resource] };
    const engine = await openEngine(database, { ...sandbox, url }, options);
    const pass = (hours: number) => clock.advance(hours * HOUR);
    const sync = async () => {
      await pass(1);
      const before = sandbox.stats.total;
      await serveOrders(engine, 'sync', { whole: true });
      return sandbox.stats.total - before;
    };
    await work({ sandbox, database, sync, pass });
    await engine.close();
  });
  await sandbox.close();
}

test('customers that the list hides for some hours, while their addresses show them, are kept', async () => {
  let hides = false;
  await withHidden(
    'customers',
    ({ id }) => hides && id % 20 === 4,
    async ({ sandbox, database, sync, pass }) => {
      await sync();
      // Each night, the same rows.
      for (let night = 0; night < 3; night++) {
        hides = true;
        for (let times = 0; times < 2; times++) await sync();
        hides = false;
        await sync();
        expect(await differences(database, sandbox, 10, ['customers'])).toEqual([]);
        expect((await database.query('select from warehouse.row_history')).rows).toEqual([]);
        await pass(22);
      }
      const [gone] = Array.from(sandbox.rows('customers'), ({ id }) => id).filter(id => id > 100);
      sandbox.remove('customers', gone as number);
      await sync();
      expect(await differences(database, sandbox, 10, ['customers'])).toEqual([]);
    },
  );
});

test('invoices that only the lists of their customers show are asked for once a day, and leave once these lack them', async () => {
  let archives = false;
  const isArchived = ({ id }: { id: number }, query = new URLSearchParams()) =>
    archives && id % 6 === 1 && !query.has('customer_id');
  await withHidden('invoices', isArchived, async ({ sandbox, database, sync, pass }) => {
    const once = await sync();
    archives = true;
    for (let times = 0; times < 2; times++) await sync();
    expect(await sync()).toBeLessThan(2 * once);
    expect(await differences(database, sandbox, 10, ['invoices'])).toEqual([]);
    const invoices = Array.from(sandbox.rows('invoices'));
    const [archived, shown] = [invoices.find(row => isArchived(row)), invoices.find(row => !isArchived(row))];
    for (const row of [archived, shown]) sandbox.remove('invoices', row?.id as number);
    expect(await sync()).toBeLessThan(2 * once);
    expect(await differences(database, sandbox, 10, ['invoices'])).toHaveLength(1);
    await pass(24);
    await sync();
    expect(await differences(database, sandbox, 10, ['invoices'])).toEqual([]);
  });
});
