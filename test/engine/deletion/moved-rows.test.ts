import { expect, test } from 'vitest';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/clock.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { openEngine, serveOrders, serveTick } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

test.each(some(['invoices', 'transactions'] as const, 1))(
  '%s: rows with a new date are not deleted because their former window lacks them',
  async resource => {
    const size = { customers: 20, invoices: 300, transactions: 300 };
    const sandbox = await openSandbox({ size, rateLimit: 0 });
    try {
      await withDatabase(async database => {
        // Pages this small split the list into months and years.
        const engine = await openEngine(database, sandbox, { limit: 100_000, resources: [resource], pageSize: 5 });
        await serveOrders(engine, 'sync');
        const { rows } = await database.query<{ windows: number }>(
          "select count(*)::int as windows from sluice.coverage where slice like 'date %'",
        );
        expect(rows[0]?.windows).toBeGreaterThan(5);

        const dated = [...sandbox.rows(resource)]
          .map(({ id, date }) => ({ id, date: String(date) }))
          .filter(({ date }) => /^\d{4}-\d\d-\d\d$/.test(date))
          .sort((a, b) => (a.date < b.date ? -1 : 1));
        const newest = dated.at(-1)?.date as string;
        const moved = dated.slice(0, 5);
        for (const { id } of moved) sandbox.update(resource, id, { date: newest });
        const [order] = await serveOrders(engine, 'backfill', {
          dateFrom: moved[0]?.date as string,
          dateTo: moved.at(-1)?.date as string,
        });
        expect(order).toMatchObject({ state: 'done', deleted: 0 });
        const { rows: stored } = await database.query(
          `select from warehouse.${resource} where id = any(cast($1 as bigint[]))`,
          [moved.map(({ id }) => String(id))],
        );
        expect(stored).toHaveLength(moved.length);
        const { rows: history } = await database.query("select from warehouse.row_history where ended_by = 'deleted'");
        expect(history).toEqual([]);

        await serveOrders(engine, 'sync');
        await engine.close();
      });
    } finally {
      await sandbox.close();
    }
  },
);

test('a window that lacks rows which their customers show is read again before any other of its rows is deleted', async () => {
  const sandbox = await openSandbox({ size: { customers: 60, invoices: 300, transactions: 20 }, rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['invoices'], pageSize: 5 });
    await serveOrders(engine, 'sync');
    const { rows: windows } = await database.query<{ slice: string }>(
      "select slice from sluice.coverage where slice like 'date 2%..2%' and rows between 5 and 19 order by slice",
    );
    const [dateFrom = '', dateTo = ''] = windows[0]?.slice.slice('date '.length).split('..') ?? [];
    const { rows: lacked } = await database.query<{ customer: string }>(
      'select customer_id::text as customer from warehouse.invoices where date between $1 and $2 order by id::text',
      [dateFrom, dateTo],
    );
    const second = lacked.find(row => row.customer !== lacked[0]?.customer);
    // An empty response is requested once more before it is believed.
    sandbox.failNext('empty-list-zero', 2, 'date_from');
    sandbox.failNext('empty-list-zero', 2, `customer_id=${second?.customer}&`);
    const [order] = await serveOrders(engine, 'backfill', { dateFrom, dateTo });
    expect(order?.reason ?? order?.state).toBe('done');
    expect(await database.query("select from warehouse.row_history where ended_by = 'deleted'")).toMatchObject({
      rows: [],
    });
    expect(await database.query('select from sluice.missing')).toMatchObject({ rows: [] });
    await engine.close();
  });
  await sandbox.close();
});

test('verify reports a row with a hidden date as extra only if no window shows it', async () => {
  const sandbox = await openSandbox({
    size: { customers: 60, invoices: 250, transactions: 20 },
    rateLimit: 0,
    variants: parseVariants('invoice-fields=bare,paging=capped,cap=100'),
  });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['invoices'] });
    await serveOrders(engine, 'sync');
    const dated = [...sandbox.rows('invoices')]
      .map(({ id, date }) => ({ id, date: String(date) }))
      .filter(({ date }) => /^\d{4}-\d\d-\d\d$/.test(date))
      .sort((a, b) => (a.date < b.date ? -1 : 1));
    const [first, second] = [dated[0], dated[1]];
    sandbox.update('invoices', first?.id ?? 0, { date: dated.at(-1)?.date ?? null });
    sandbox.remove('invoices', second?.id ?? 0);
    const [order] = await serveOrders(engine, 'verify');
    expect(order).toMatchObject({ state: 'done', report: { absent: [], different: [], extra: [String(second?.id)] } });
    await engine.close();
  });
  await sandbox.close();
});

test('an invoice without a customer is deleted once everything was read after it left the source', async () => {
  const sandbox = await openSandbox({ rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['invoices'] });
    const [orphan] = sandbox.rows('invoices');
    sandbox.update('invoices', orphan?.id as number, { customer_id: null as unknown as number });
    await serveOrders(engine, 'sync');
    sandbox.remove('invoices', orphan?.id as number);
    const [order] = await serveOrders(engine, 'sync');
    expect(order).toMatchObject({ state: 'done', deleted: 1 });
    expect(await differences(database, sandbox, 8, ['invoices'])).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test('what all windows lack is deleted only by readings that began SOURCE_LAG_SECONDS after it went missing', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const size = { customers: 20, invoices: 20, transactions: 100 };
    // Not in id order, so that only readings of all windows confirm a deletion.
    const sandbox = await openSandbox({ size, rateLimit: 0, clock, variants: { order: 'updated-desc' } });
    const given = { clock, limit: 100_000, resources: ['transactions'], pageSize: 5, lagMs: MINUTE } as const;
    const engine = await openEngine(database, sandbox, given);
    await serveOrders(engine, 'sync');
    await clock.advance(HOUR);
    const [moved, gone] = [...sandbox.rows('transactions')].slice(40, 42).map(({ id }) => Number(id));
    const deleted = async () => {
      const { rows } = await database.query<{ key: string }>(
        "select key from warehouse.row_history where ended_by = 'deleted'",
      );
      return rows.map(({ key }) => Number(key));
    };
    // As while a row moves at a source whose answers lag behind: its old window lacks it already, and its new one still does.
    sandbox.remove('transactions', moved as number);
    sandbox.remove('transactions', gone as number);
    for (let runs = 0; runs < 4; runs++) {
      await serveOrders(engine, 'sync');
      expect([runs, await deleted()]).toEqual([runs, []]);
      await clock.advance(10 * SECOND);
    }
    sandbox.restore('transactions', moved as number);
    sandbox.update('transactions', moved as number, { date: '2026-01-14' });
    await clock.advance(MINUTE);
    await serveOrders(engine, 'sync');
    expect(await deleted()).toEqual([gone]);
    expect(await differences(database, sandbox, 5, ['transactions'])).toEqual([]);

    // A repair waits for that moment.
    await clock.advance(HOUR);
    sandbox.remove('transactions', moved as number);
    const begun = clock.now();
    await serveOrders(engine, 'verify', { repair: true });
    expect(await deleted()).toEqual([gone, moved]);
    expect(clock.now() - begun).toBeGreaterThanOrEqual(MINUTE);
    await engine.close();
    await sandbox.close();
  });
});

type Window = { readonly from: string; readonly to: string };

test('a row that moves on before each reading of its window stays, as the source still counts it', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const size = { customers: 20, invoices: 20, transactions: 300 };
    const sandbox = await openSandbox({ size, rateLimit: 0, clock, variants: { order: 'date-desc' } });
    const given = { clock, limit: 100_000, resources: ['transactions'], pageSize: 5 } as const;
    const engine = await openEngine(database, sandbox, given);
    await serveOrders(engine, 'sync');
    const { rows: windows } = await database.query<Window>(
      `select split_part(substr(slice, 6), '..', 1) as from, split_part(slice, '..', 2) as to from sluice.coverage
       where slice ~ '^date 2.*[0-9]$' and rows > 0 order by slice`,
    );
    expect(windows.length).toBeGreaterThan(3);
    const [a, b, c] = [windows[3], windows[4], windows[2]] as [Window, Window, Window];
    const [moved] = [...sandbox.rows('transactions')].filter(
      ({ date }) => String(date) >= a.from && String(date) <= a.to,
    );
    const id = moved?.id as number;
    const read = async (dateFrom: string | null, dateTo: string | null) => {
      await clock.advance(MINUTE);
      await serveOrders(engine, 'backfill', { dateFrom, dateTo });
    };
    const middleOf = ({ from }: Window) => `${from.slice(0, 8)}15`;
    const dayBefore = (day: string) => new Date(Date.parse(day) - DAY).toISOString().slice(0, 10);
    const dayAfter = (day: string) => new Date(Date.parse(day) + DAY).toISOString().slice(0, 10);
    sandbox.update('transactions', id, { date: middleOf(b) });
    await read(a.from, a.to);
    expect((await database.query('select from sluice.missing')).rows).toHaveLength(1);
    await read(null, dayBefore(a.from));
    await read(dayAfter(b.to), null);
    sandbox.update('transactions', id, { date: middleOf(c) });
    await read(a.from, b.to);
    await clock.advance(MINUTE);
    await serveTick(engine, 0, null);
    expect((await database.query('select from warehouse.transactions where id = $1', [id])).rows).toHaveLength(1);
    expect((await database.query("select from warehouse.row_history where ended_by = 'deleted'")).rows).toEqual([]);
    await clock.advance(MINUTE);
    await serveOrders(engine, 'sync', { whole: true });
    expect(await differences(database, sandbox, 8, ['transactions'])).toEqual([]);
    await engine.close();
    await sandbox.close();
  });
});
