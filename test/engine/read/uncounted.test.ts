import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import { orderOfIds } from '../../../src/engine/profile/observe-order.ts';
import type { Engine, LoopEvent } from '../../../src/engine/run/engine.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { long, some } from '../../support/long.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

type Change = (sandbox: Sandbox, kind: LoopEvent['kind']) => unknown;
type Options = NonNullable<Parameters<typeof openEngine>[2]>;

/** A source that does not count its rows, read in pages of 10. `change` is called at every event of the loop, `answered` after every request. */
async function withUncounted(
  {
    seed = 1,
    change,
    answered,
    ...variants
  }: Partial<Variants> & { seed?: number; change?: Change; answered?: (sandbox: Sandbox) => unknown },
  options: Pick<Options, 'resources' | 'pageSize' | 'concurrency'>,
  run: (parts: { sandbox: Sandbox; database: Database; engine: Engine }) => Promise<void>,
): Promise<void> {
  const size = { customers: 10, invoices: 10, transactions: 10 };
  const sandbox = await openSandbox({ seed, size, rateLimit: 0, variants: { paging: 'no-meta', ...variants } });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, {
      limit: 100_000,
      pageSize: 10,
      onEvent: ({ kind }) => change?.(sandbox, kind),
      wrapBudget: budget => ({
        ...budget,
        settle(...answer) {
          answered?.(sandbox);
          return budget.settle(...answer);
        },
      }),
      ...options,
    });
    await run({ sandbox, database, engine });
    await engine.close();
  });
  await sandbox.close();
}

test('the end of a list without a count makes no row missing', () =>
  withUncounted({}, { resources: ['products'] }, async ({ database, engine }) => {
    for (let turn = 0; turn < 3; turn++) expect(await serveOrders(engine, 'sync')).toMatchObject([{ state: 'done' }]);
    const { rows } = await database.query('select sum(missing)::int as missing from sluice.runs');
    expect(rows).toEqual([{ missing: 0 }]);
  }));

test.each(some([10, 20, 'auto'] as const, 1))(
  'a source with its own page size and no count is read completely, without gaps between pages (%s rows per page requested)',
  pageSize =>
    withUncounted(
      { 'limit-max': 'ignored' },
      { resources: ['products'], pageSize },
      async ({ sandbox, database, engine }) => {
        const sync = async () => {
          const orders = await serveOrders(engine, 'sync');
          expect(orders.map(order => order.reason ?? order.state)).toEqual(['done']);
          expect(await differences(database, sandbox, 8, ['products'])).toEqual([]);
        };
        // The second reading knows the size of its pages, and so how long the list is.
        await sync();
        await sync();
        // Between the two pages there is an id that no row has.
        const [edge] = [...sandbox.rows('products')].reverse().slice(20);
        sandbox.remove('products', edge?.id as number);
        await sync();
        await sync();
        const { rows } = await database.query("select slice from sluice.coverage where slice <> 'newest'");
        expect(rows).toEqual([{ slice: 'whole' }]);
      },
    ),
);

test('no existing row is deleted from an uncounted list ordered by last change, whatever its last page holds', () =>
  withUncounted(
    { order: 'updated-asc', change: sandbox => sandbox.changeOthers(1) },
    { resources: ['tickets', 'products'] },
    async ({ sandbox, database, engine }) => {
      for (let turn = 0; turn < 5; turn++) {
        await serveOrders(engine, 'sync');
        const deletions = sandbox.otherChanges.filter(({ kind }) => kind.endsWith('-deleted'));
        const gone = new Set(deletions.map(({ resource, id }) => `${resource} ${id}`));
        const { rows } = await database.query<{ row: string }>(
          `select resource || ' ' || key as row from warehouse.row_history where ended_by = 'deleted'`,
        );
        expect(rows.map(({ row }) => row).filter(row => !gone.has(row))).toEqual([]);
      }
    },
  ));

test('rows that are inserted all the time do not prevent a proof of the list', () =>
  withUncounted(
    { order: 'shuffled', answered: sandbox => sandbox.changeOther('product-new') },
    { resources: ['products'], concurrency: 1 },
    async ({ engine }) => {
      const orders = await serveOrders(engine, 'sync');
      expect(orders.map(order => order.reason ?? order.state)).toEqual(['done']);
    },
  ));

test.each(some([1, 2, 3, 4, 5, 6], 3))(
  'a list in another order at each request is equal to the source or stays unproven (%i)',
  seed =>
    withUncounted(
      { seed, order: 'date-desc-loose' },
      { resources: ['suppliers', 'users'] },
      async ({ sandbox, database, engine }) => {
        for (const { resource, state, reason } of await serveOrders(engine, 'sync')) {
          if (state === 'done') expect(await differences(database, sandbox, 8, [resource as 'users'])).toEqual([]);
          else expect(reason).toContain('it showed different rows each time it was read');
        }
      },
    ),
);

test('a list seen in ascending and then in descending id order has no id order', () => {
  expect(orderOfIds([3n, 5n, 9n], null)).toBe('id-asc');
  expect(orderOfIds([9n, 5n], 'id-asc')).toBe('none');
  expect(orderOfIds([3n, 5n], 'id-desc')).toBe('none');
  expect(orderOfIds([3n, 5n], 'none')).toBe('none');
  expect(orderOfIds([5n, 3n], 'updated-desc')).toBe('none');
  expect(orderOfIds([5n], 'id-asc')).toBe('id-asc');
});

test('a list in one body is found to have no pages, even if the process stopped after the first answer', async () => {
  const sandbox = await openSandbox({ rateLimit: 0, variants: { paging: 'whole' } });
  await withDatabase(async database => {
    const stop = new AbortController();
    const options: Options = { limit: 100_000, pageSize: 10, resources: ['products'], concurrency: 1 };
    const first = await openEngine(database, sandbox, {
      ...options,
      onEvent: ({ kind }) => kind === 'committed' && stop.abort(),
    });
    await expect(serveOrders(first, 'sync', {}, stop.signal)).rejects.toMatchObject({ kind: 'stopped' });
    await first.close();
    const { rows } = await database.query("select slice from sluice.coverage where slice like 'id %' order by slice");
    // Cut by id, as for a list of pages. A second answer could be under way at the stop, and cut it further.
    expect(rows).toContainEqual({ slice: 'id ..0' });

    const engine = await openEngine(database, sandbox, options);
    expect(await serveOrders(engine, 'sync')).toMatchObject([{ state: 'done' }]);
    expect(engine.resources[0]?.profile.paging).toBe('ignored');
    expect(await differences(database, sandbox, 8, ['products'])).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test('the rows of a value that fill one page, which comes again behind its end, do not make the list one of a single page', () =>
  withUncounted({ 'past-end': 'last-page', 'other-ids': 'yes' }, { resources: ['tickets'] }, async parts => {
    const { sandbox, database, engine } = parts;
    const tickets = [...sandbox.rows('tickets')];
    // A page of open tickets at most, in a list of several pages.
    for (const { id } of tickets.slice(5)) sandbox.update('tickets', id, { status: 'Closed' });
    await serveOrders(engine, 'sync');
    for (const { id } of tickets.slice(8, 12)) sandbox.remove('tickets', id);
    for (let turn = 0; turn < 3; turn++) await serveOrders(engine, 'sync');
    expect(await differences(database, sandbox, 5, ['tickets'])).toEqual([]);
    const before = sandbox.stats.total;
    await serveOrders(engine, 'sync');
    expect(sandbox.stats.total - before).toBeLessThan(3 * Math.ceil(tickets.length / 10) + 8);
  }));

long('windows of one page, which comes again behind its end, do not make the list one of a single page', () =>
  withUncounted({ 'past-end': 'last-page' }, { resources: ['invoices'] }, async ({ sandbox, database, engine }) => {
    await serveOrders(engine, 'sync');
    const paging = async () =>
      (await database.query<{ value: string }>(`select value from sluice.traits where trait = 'paging'`)).rows;
    for (let day = 1; day <= 15; day++) sandbox.change('invoice-new');
    for (let turn = 0; turn < 3; turn++) {
      await serveOrders(engine, 'sync', { whole: true });
      expect(await paging()).toEqual([{ value: 'until empty' }]);
    }
    for (const { id } of [...sandbox.rows('invoices')].slice(3, 6)) sandbox.remove('invoices', id);
    for (let turn = 0; turn < 2; turn++) await serveOrders(engine, 'sync', { whole: true });
    expect(await differences(database, sandbox, 5, ['invoices'])).toEqual([]);
  }),
);

test('a row is deleted, although what is left of its customer fills one page, which comes again behind its end', () =>
  withUncounted({ 'past-end': 'last-page' }, { resources: ['invoices'] }, async ({ sandbox, database, engine }) => {
    const [first, ...others] = [...sandbox.rows('invoices')];
    if (!first) throw new Error('no invoices');
    const own = [...sandbox.rows('invoices')].filter(each => each.customer_id === first.customer_id);
    for (const { id } of others.filter(each => !own.includes(each)).slice(0, Math.max(11 - own.length, 0)))
      sandbox.update('invoices', id, { customer_id: first.customer_id });
    while ([...sandbox.rows('invoices')].filter(each => each.customer_id === first.customer_id).length < 11) {
      const { id } = sandbox.change('invoice-new');
      sandbox.update('invoices', id, { customer_id: first.customer_id });
    }
    await serveOrders(engine, 'sync');
    sandbox.remove('invoices', first.id);
    for (let turn = 0; turn < 2; turn++) await serveOrders(engine, 'sync', { whole: true });
    expect(await differences(database, sandbox, 5, ['invoices'])).toEqual([]);
  }));
