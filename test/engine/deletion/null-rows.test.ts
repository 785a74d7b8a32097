import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { openProxy } from '../../conformance/tests/proxy.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

const SIZE = { customers: 60, invoices: 60, transactions: 60 };

test('a record that cannot be read, and was there before, keeps no row from being deleted', async () => {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants: { 'null-rows': 'yes', order: 'shuffled' } });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000 });
    await serveOrders(engine, 'sync');
    for (const kind of ['customer-deleted', 'invoice-deleted', 'transaction-deleted'] as const)
      for (let times = 0; times < 3; times++) sandbox.change(kind);
    expect((await serveOrders(engine, 'sync')).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
    expect(await differences(database, sandbox)).toEqual([]);
    const verified = await serveOrders(engine, 'verify');
    expect(verified.map(({ report }) => (report as { unreadable: string[] }).unreadable.length)).toEqual([1, 1, 1]);
    await engine.close();
  });
  await sandbox.close();
});

test('equal records that cannot be read count each by itself, on whatever pages they are', async () => {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants: { 'null-rows': 'two', order: 'shuffled' } });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, pageSize: 20 });
    for (let times = 0; times < 2; times++) {
      expect((await serveOrders(engine, 'sync')).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
      sandbox.change('transaction-deleted');
    }
    await serveOrders(engine, 'sync');
    expect(await differences(database, sandbox)).toEqual([]);
    const { rows } = await database.query(
      'select resource, count(*)::int from sluice.quarantine group by 1 order by 1',
    );
    expect(rows.map(({ count }) => count)).toEqual([2, 2, 2]);
    const counts = await database.query("select from sluice.traits where trait = 'counts'");
    expect(counts.rows).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test('a row that went missing when such a record appeared may be that record: it stays until its own address denies it', async () => {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants: { order: 'shuffled' } });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['customers', 'transactions'] });
    await serveOrders(engine, 'sync');
    sandbox.setVariants({ 'null-rows': 'yes' });
    sandbox.change('customer-deleted');
    const { id } = sandbox.change('transaction-deleted');
    for (let times = 0; times < 3; times++) await serveOrders(engine, 'sync');
    expect(await differences(database, sandbox, 5, ['customers'])).toEqual([]);
    const { rows } = await database.query('select key, unreadable from sluice.missing');
    expect(rows).toEqual([{ key: String(id), unreadable: true }]);

    sandbox.setVariants({ 'null-rows': 'no' });
    for (let times = 0; times < 3; times++) await serveOrders(engine, 'sync');
    expect(await differences(database, sandbox, 5, ['transactions'])).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test('a row that one answer showed beside such a record is not that record, even before its list was ever proven', async () => {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants: { 'null-rows': 'yes', order: 'id-asc' } });
  await withDatabase(async database => {
    let answers = 0;
    const engine = await openEngine(database, sandbox, {
      limit: 100_000,
      resources: ['users'],
      concurrency: 1,
      // The first answer proves nothing yet: it is asked for by ids, and its first record has none.
      onEvent: ({ kind }) => kind === 'committed' && ++answers === 1 && sandbox.changeOther('user-deleted'),
    });
    for (let times = 0; times < 3; times++) await serveOrders(engine, 'sync');
    expect(await differences(database, sandbox, 5, ['users'])).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test.each([{ paging: 'capped' }, { 'count-values': 'negative' }] as const)(
  'an empty list without a count that answers each request with such a record is not cut into days (%o)',
  async uncounted => {
    const variants = { visible: 'none', 'null-rows': 'two', 'date-filter': 'pair-only', ...uncounted } as const;
    const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants });
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['invoices', 'transactions'] });
      const abort = new AbortController();
      const stop = setInterval(() => sandbox.stats.total > 200 && abort.abort(), 20);
      await serveOrders(engine, 'sync', {}, abort.signal).catch(() => undefined);
      clearInterval(stop);
      expect(sandbox.stats.total).toBeLessThan(20);
      await engine.close();
    });
    await sandbox.close();
  },
);

test.each(some(['meta', 'no-meta'] as const, 1))(
  'a list whose ids can no longer be read fails after few requests, and loses nothing (paging=%s)',
  async paging => {
    const sandbox = await openSandbox({ size: { ...SIZE, invoices: 240 }, rateLimit: 0, variants: { paging } });
    let arePrefixed = false;
    const url = await openProxy(sandbox, (given, { path }) => {
      if (!arePrefixed || path !== '/api/v2/invoices') return given;
      const data = given.body.data.map((row: { id: number }) => ({ ...row, id: `X-${row.id}` }));
      return { ...given, body: { ...given.body, data } };
    });
    await withDatabase(async database => {
      const engine = await openEngine(database, { ...sandbox, url }, { limit: 100_000, resources: ['invoices'] });
      const sync = async () =>
        (await serveOrders(engine, 'sync', { whole: true })).map(order => order.reason ?? order.state);
      await sync();
      await sync();
      arePrefixed = true;
      for (let times = 0; times < 4; times++) {
        const before = sandbox.stats.total;
        expect(await sync()).toEqual([
          expect.stringMatching(/^invoices ".*records came without an id that can be read/),
        ]);
        expect(sandbox.stats.total - before).toBeLessThan(30);
      }
      arePrefixed = false;
      expect(await sync()).toEqual(['done']);
      expect(await differences(database, sandbox, 5, ['invoices'])).toEqual([]);
      expect((await database.query('select from sluice.missing')).rows).toEqual([]);
      expect((await database.query('select from warehouse.row_history')).rows).toEqual([]);
      await engine.close();
    });
    await sandbox.close();
  },
);

test('a row is not deleted where the record that cannot be read was another row before', async () => {
  const sandbox = await openSandbox({ size: { ...SIZE, customers: 12 }, rateLimit: 0 });
  const ids = [...sandbox.rows('invoices')].slice(20, 22).map(({ id }) => id);
  let locked: number | undefined;
  const url = await openProxy(sandbox, (answer, { path }) => {
    if (path !== '/api/v2/invoices' || answer.status !== 200) return answer;
    const data = answer.body.data.map((row: { id: number }) => (row.id === locked ? null : row));
    return { status: 200, body: { ...answer.body, data } };
  });
  await withDatabase(async database => {
    const engine = await openEngine(database, { ...sandbox, url }, { limit: 100_000, resources: ['invoices'] });
    const [first, second] = ids;
    for (locked of [undefined, undefined, first, first, second, second, second]) {
      expect((await serveOrders(engine, 'sync', { whole: true })).map(({ state }) => state)).toEqual(['done']);
      expect(await differences(database, sandbox, 5, ['invoices'])).toEqual([]);
    }
    await engine.close();
  });
  await sandbox.close();
});

test('without ids, rows that changed when such a record appeared leave with a reading that shows it again', async () => {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants: { 'other-ids': 'no' } });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['tickets'] });
    const stored = () => database.query('select subject from warehouse.tickets');
    await serveOrders(engine, 'sync');
    const { length } = (await stored()).rows;
    sandbox.setVariants({ 'null-rows': 'yes' });
    const [first] = Array.from(sandbox.rows('tickets'), ({ id }) => id);
    sandbox.update('tickets', first as number, { subject: 'Edited' });
    await serveOrders(engine, 'sync');
    // The row of before may be the record that cannot be read.
    expect((await stored()).rows).toHaveLength(length + 1);
    await serveOrders(engine, 'verify', { repair: true });
    expect((await stored()).rows).toHaveLength(length);
    await engine.close();
  });
  await sandbox.close();
});
