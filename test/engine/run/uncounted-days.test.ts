import { describe, expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

/** Adds so many transactions of one day. */
function add(sandbox: Sandbox, date: string, times: number): void {
  for (let n = 0; n < times; n++)
    sandbox.insert('transactions', { type: 'Income', account_id: 1, category_id: 1, amount: n, description: '', date });
}

interface Synced {
  readonly state: string;
  readonly requests: number;
  readonly complete: boolean;
}

/** Syncs the transactions of a source without counts so many times; `before` changes the source before each of them. */
async function syncs(
  paging: 'whole' | 'no-meta',
  times: number,
  before: (sandbox: Sandbox, time: number) => void,
): Promise<Synced[]> {
  const size = { customers: 5, invoices: 5, transactions: 0 };
  const sandbox = await openSandbox({ size, rateLimit: 0, variants: { paging } });
  const synced: Synced[] = [];
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['transactions'] });
    for (let time = 1; time <= times; time++) {
      before(sandbox, time);
      sandbox.stats.reset();
      const [order] = await serveOrders(engine, 'sync', { whole: true });
      const { rows } = await database.query<{ complete: boolean; stored: string }>(`select
        (select bool_and(complete) from sluice.complete('2000-01-01', '2099-12-31') where resource = 'transactions') as complete,
        (select count(*) from warehouse.transactions) as stored`);
      expect(Number(rows[0]?.stored)).toBe([...sandbox.rows('transactions')].length);
      synced.push({
        state: order?.state ?? '',
        requests: sandbox.stats.total,
        complete: rows[0]?.complete ?? false,
      });
    }
    await engine.close();
  });
  await sandbox.close();
  return synced;
}

describe.each(some([['whole'], ['no-meta']] as const, 1))('a list without counts (paging=%s)', paging => {
  test('whose rows are all of one day costs few requests, and is proven once a row of another day comes', async () => {
    const all = await syncs(paging, 6, (sandbox, time) => {
      if (time === 1) add(sandbox, '2024-05-05', 60);
      if (time === 3) add(sandbox, '2024-07-05', 1);
    });
    expect(all.map(({ state }) => state)).toEqual(['failed', 'failed', 'failed', 'done', 'done', 'done']);
    expect(all.map(({ complete }) => complete)).toEqual([false, false, false, true, true, true]);
    for (const { requests } of all.slice(1)) expect(requests).toBeLessThan(10);
  });

  test('is proven in the run in which a day gets more rows than any reading showed', async () => {
    const all = await syncs(paging, 4, (sandbox, time) => {
      if (time === 1) for (let month = 1; month <= 9; month++) add(sandbox, `2024-0${month}-11`, 5);
      if (time === 2) add(sandbox, '2025-09-05', 200);
    });
    expect(all.map(({ state, complete }) => [state, complete])).toEqual(all.map(() => ['done', true]));
    expect(all[3]?.requests).toBeLessThan(12);
  });

  test('is proven by its first run, though the newest day has most of its rows', async () => {
    const all = await syncs(paging, 2, (sandbox, time) => {
      if (time > 1) return;
      add(sandbox, '2026-01-05', 1500);
      add(sandbox, '2024-07-05', 10);
    });
    expect(all.map(({ state, complete }) => [state, complete])).toEqual(all.map(() => ['done', true]));
  });

  test('is not gathered into readings that are cut again', async () => {
    const all = await syncs(paging, 3, (sandbox, time) => {
      if (time === 1)
        for (let month = 1; month <= 12; month++) add(sandbox, `2024-${`${month}`.padStart(2, '0')}-11`, 5);
    });
    for (const { requests } of all.slice(1)) expect(requests).toBeLessThanOrEqual(5);
  });

  test.each([
    ['one row', ['2024-05-05']],
    ['rows of one day', ['2024-05-05', '2024-05-05', '2024-05-05']],
    ['rows of days side by side', ['2024-05-05', '2024-05-06', '2024-05-07']],
    ['rows of several months', ['2023-01-31', '2024-05-05', '2024-05-05', '2025-09-17', '2026-01-02']],
    ['a day that has most of the rows', [...Array<string>(12).fill('2024-05-05'), '2024-05-09', '2024-06-01']],
  ])('is read with few requests: %s', async (_name, days) => {
    const all = await syncs(paging, 3, (sandbox, time) => {
      if (time === 1) for (const day of days) add(sandbox, day, 1);
    });
    expect(all.map(({ state, complete }) => [state, complete])).toEqual(all.map(() => ['done', true]));
    expect(all[0]?.requests).toBeLessThanOrEqual(30);
    for (const { requests } of all.slice(1)) expect(requests).toBeLessThanOrEqual(6);
  });
});
