import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

const SIZE = { customers: 20, invoices: 20, transactions: 20 };

/** Counts rows moved to the history: the entry of one that comes back is removed. */
async function countDeletions(database: Database): Promise<() => Promise<string[]>> {
  await database.query('create table public.gone (key text)');
  await database.query(`create function public.note_gone() returns trigger language plpgsql as $$ begin
    insert into public.gone values (new.key); return null; end $$`);
  await database.query(`create trigger note_gone after insert on warehouse.row_history
    for each row when (new.ended_by = 'deleted') execute function public.note_gone()`);
  return async () =>
    (await database.query<{ key: string }>('select key from public.gone order by 1')).rows.map(row => row.key);
}

const ticket = (subject = 'Printer') => ({
  ...{ customer_id: 1, subject, message: 'On fire', department_id: 1, priority: 'High', status: 'Open' },
});
const idsOf = (sandbox: Sandbox) => Array.from(sandbox.rows('tickets'), row => row.id).sort((a, b) => a - b);

test('a cap that appears deletes no row of a date window', async () => {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants: { paging: 'whole' } });
  for (let n = 0; n < 900; n++) {
    const date = `${2021 + (n % 5)}-${String(1 + (n % 12)).padStart(2, '0')}-${String(1 + (n % 28)).padStart(2, '0')}`;
    sandbox.insert('transactions', { type: 'Income', account_id: 1, category_id: 1, amount: n, description: '', date });
  }
  await withDatabase(async database => {
    const gone = await countDeletions(database);
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['transactions'] });
    await serveOrders(engine, 'sync', { whole: true });
    sandbox.setVariants({ 'most-rows': '100' as Variants['most-rows'] });
    for (let turn = 0; turn < 3; turn++) {
      await serveOrders(engine, 'sync', { whole: true });
      expect(await gone()).toEqual([]);
    }
    await engine.close();
  });
  await sandbox.close();
});

test.each(
  some(
    [
      { cap: 100, lowered: 50, days: { '2024-05-05': 60, '2024-05-06': 30, '2025-03-01': 12 } },
      { cap: 100, lowered: 50, days: { '2024-05-05': 54, '2024-05-06': 54, '2025-03-01': 54, '2025-03-09': 53 } },
      { cap: 30, lowered: 12, days: { '2024-05-05': 16, '2024-05-06': 14, '2025-03-01': 13, '2025-03-09': 5 } },
      { cap: 30, lowered: 7, days: { '2024-05-05': 10, '2024-07-06': 11, '2025-03-01': 8, '2025-03-09': 9 } },
    ],
    2,
  ),
)('a cap lowered from $cap to $lowered rows deletes no row of a day', async ({ cap, lowered, days }) => {
  const variants = { paging: 'whole', 'most-rows': `${cap}` as Variants['most-rows'] } as const;
  const sandbox = await openSandbox({ size: { ...SIZE, transactions: 0 }, rateLimit: 0, variants });
  for (const [date, rows] of Object.entries(days))
    for (let n = 0; n < rows; n++)
      sandbox.insert('transactions', {
        ...{ type: 'Income', account_id: 1, category_id: 1, amount: n, description: '', date },
      });
  await withDatabase(async database => {
    const gone = await countDeletions(database);
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['transactions'] });
    const [first] = await serveOrders(engine, 'sync', { whole: true });
    expect(first?.reason ?? first?.state).toBe('done');
    sandbox.setVariants({ 'most-rows': `${lowered}` as Variants['most-rows'] });
    const [report] = await serveOrders(engine, 'verify');
    expect(report?.report).toMatchObject({ extra: [] });
    for (let turn = 0; turn < 3; turn++) {
      await serveOrders(engine, 'sync', { whole: true });
      expect(await gone()).toEqual([]);
    }
    await engine.close();
  });
  await sandbox.close();
});

test('equal rows without an id are not deleted as more of them come and push others out', async () => {
  const variants = { paging: 'whole', 'other-ids': 'no', 'most-rows': '37' } as const;
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants });
  while (idsOf(sandbox).length < 60) sandbox.insert('tickets', ticket());
  await withDatabase(async database => {
    const gone = await countDeletions(database);
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['tickets'] });
    for (let turn = 0; turn < 4; turn++) {
      await serveOrders(engine, 'sync', { whole: true });
      expect(await gone()).toEqual([]);
      for (let n = 0; n < 2; n++) sandbox.insert('tickets', ticket('Another'));
    }
    await engine.close();
  });
  await sandbox.close();
});

test.each(some(['meta', 'whole'] as const, 1))(
  'a row that comes as the oldest is deleted fails no run, and the oldest leaves once the length changes (paging=%s)',
  async paging => {
    const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants: { paging } });
    while (idsOf(sandbox).length < 41) sandbox.insert('tickets', ticket());
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['tickets', 'customers'] });
      const sync = async () =>
        (await serveOrders(engine, 'sync', { whole: true })).map(({ state, reason }) => reason ?? state);
      expect(await sync()).toEqual(['done', 'done']);
      sandbox.insert('tickets', ticket());
      sandbox.remove('tickets', idsOf(sandbox)[0] as number);
      expect(await sync()).toEqual(['done', 'done']);
      sandbox.remove('tickets', idsOf(sandbox)[20] as number);
      for (let turn = 0; turn < 3; turn++) expect(await sync()).toEqual(['done', 'done']);
      const { rows } = await database.query<{ key: string }>(
        'select id::text as key from warehouse.tickets order by id',
      );
      expect(rows.map(row => Number(row.key))).toEqual(idsOf(sandbox));
      await engine.close();
    });
    await sandbox.close();
  },
);
