import { expect, test } from 'vitest';
import { openSandbox, type Sandbox, type SandboxOptions } from '../../../../sandbox/sandbox.ts';
import { DAY, HOUR } from '../../../../src/clock.ts';
import type { Database } from '../../../../src/warehouse/database/database.ts';
import { freshness } from '../../../../src/warehouse/ledgers/incidents.ts';
import { resourceProofs, tableState } from '../../../../src/warehouse/reports/state-queries.ts';
import { differences } from '../../../support/compare.ts';
import { withDatabase } from '../../../support/database.ts';
import { keepFrom } from '../../../support/keep-from.ts';
import type { TestResource } from '../../../support/resources.ts';
import { openEngine, serveOrders, serveTick } from '../../../support/source.ts';
import { createVirtualClock, type VirtualClock } from '../../../support/virtual-clock.ts';

interface Given {
  database: Database;
  sandbox: Sandbox;
  clock: VirtualClock;
  engine: Awaited<ReturnType<typeof openEngine>>;
  /** Serves a tick of the resource's schedule; returns what was asked of the source. */
  tick: (agenda?: null) => Promise<string[]>;
}

async function withResource(
  named: TestResource | readonly TestResource[],
  options: SandboxOptions,
  fn: (given: Given) => Promise<void>,
  start = '2026-01-31T22:00:00.000Z',
): Promise<void> {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, start);
    const size = { customers: 10, invoices: 40, transactions: 200 };
    const sandbox = await openSandbox({ size, clock, rateLimit: 0, ...options });
    keepFrom(sandbox, '2024-01-01');
    const resources = typeof named === 'string' ? [named] : named;
    const engine = await openEngine(database, sandbox, { clock, resources });
    const tick = async (agenda?: null) => {
      const before = sandbox.stats.total;
      await serveTick(engine, 0, agenda);
      return sandbox.stats.requests
        .slice(before - sandbox.stats.total || sandbox.stats.requests.length)
        .map(each => each.path);
    };
    await fn({ database, sandbox, clock, engine, tick });
    await engine.close();
    await sandbox.close();
  });
}

const months = (paths: readonly string[]) =>
  paths.map(path => {
    const query = new URLSearchParams(path.split('?')[1]);
    return `${query.get('year')}-${query.get('month')}`;
  });

test('the first reading requests each month once, and a year of empty months before the oldest', async () => {
  await withResource('financial_summaries', {}, async ({ database, sandbox, engine }) => {
    const [order] = await serveOrders(engine, 'sync');
    expect(order?.reason ?? order?.state).toBe('done');
    expect(await differences(database, sandbox, 5, ['financial_summaries'])).toEqual([]);
    const { rows } = await database.query('select from warehouse.financial_summaries');
    expect(rows.length).toBeGreaterThan(12);
    expect(sandbox.stats.total).toBe(rows.length + 12);
  });
});

test('a past month is read until it no longer changes, and back-dated changes in older months are found too', async () => {
  await withResource('financial_summaries', {}, async ({ database, sandbox, clock, engine, tick }) => {
    await serveOrders(engine, 'sync');
    // The month ends, and something of it is booked late.
    await clock.advance(3 * HOUR);
    const [transaction] = [...sandbox.rows('transactions')].filter(row => String(row.date).startsWith('2026-01'));
    sandbox.update('transactions', transaction?.id as number, { amount: 123.45 });
    expect(months(await tick()).slice(0, 3)).toEqual(['2026-2', '2026-1', '2025-12']);
    expect(await differences(database, sandbox, 5, ['financial_summaries'])).toEqual([]);
    const [old] = [...sandbox.rows('transactions')].filter(row => String(row.date).startsWith('2024-05'));
    sandbox.update('transactions', old?.id as number, { amount: 99.5 });
    await clock.advance(DAY);
    await tick();
    expect(await differences(database, sandbox, 5, ['financial_summaries'])).toEqual([]);
  });
});

const REPORTED = ['transactions', 'invoices', 'financial_summaries'] as const satisfies TestResource[];

const withReport = (fn: (given: Given) => Promise<void>, variants: SandboxOptions['variants'] = {}) =>
  withResource(REPORTED, { latencyMs: 20, variants }, fn, '2026-01-15T10:00:00.000Z');

/** The months that a sync asks for. */
async function syncMonths({ sandbox, engine }: Given, details = {}): Promise<string[]> {
  const before = sandbox.stats.total;
  for (const order of await serveOrders(engine, 'sync', details)) expect(order.reason ?? order.state).toBe('done');
  const asked = sandbox.stats.requests.slice(before - sandbox.stats.total || sandbox.stats.requests.length);
  return months(asked.map(({ path }) => path).filter(path => path.includes('/reports/')));
}

/** The first transaction or invoice of a month. */
const rowOf = (sandbox: Sandbox, list: 'transactions' | 'invoices', month: string): number =>
  [...sandbox.rows(list)].find(row => String(row.date).startsWith(month))?.id as number;

test('past months are read again when transactions or invoices of theirs have changed, and the newest two every time', async () => {
  await withReport(async given => {
    const { database, sandbox, clock } = given;
    const first = await syncMonths(given);
    expect(first.length).toBeGreaterThan(24);
    await clock.advance(HOUR);
    expect(await syncMonths(given)).toEqual(['2026-1', '2025-12']);

    sandbox.update('transactions', rowOf(sandbox, 'transactions', '2025-03'), { amount: 99.5 });
    sandbox.update('invoices', rowOf(sandbox, 'invoices', '2025-05'), { amount: 77.25 });
    sandbox.remove('transactions', rowOf(sandbox, 'transactions', '2025-08'));
    await clock.advance(HOUR);
    // What is missing is deleted by a reading after it, and the report follows the rows.
    const asked: string[] = [];
    for (let times = 0; times < 3; times++) {
      asked.push(...(await syncMonths(given)).slice(2));
      await clock.advance(HOUR);
    }
    expect([...new Set(asked)].sort()).toEqual(['2025-3', '2025-5', '2025-8']);
    expect(await differences(database, sandbox, 5, [...REPORTED])).toEqual([]);
    expect(await syncMonths(given)).toEqual(['2026-1', '2025-12']);
  });
});

test('the report follows in the same sync what that sync finds, also in the month that a transaction leaves', async () => {
  await withReport(async given => {
    const { database, sandbox, clock } = given;
    await syncMonths(given);
    await clock.advance(HOUR);
    sandbox.update('transactions', rowOf(sandbox, 'transactions', '2025-03'), { date: '2025-06-15' });
    expect((await syncMonths(given)).slice(2)).toEqual(['2025-6', '2025-3']);
    expect(await differences(database, sandbox, 5, [...REPORTED])).toEqual([]);
  });
});

test('a changed row without a date has changed the months of the window that returned it', async () => {
  await withReport(
    async given => {
      const { database, sandbox, clock } = given;
      await syncMonths(given);
      await clock.advance(HOUR);
      sandbox.update('invoices', rowOf(sandbox, 'invoices', '2025-05'), { amount: 77.25 });
      const asked = await syncMonths(given);
      await clock.advance(HOUR);
      expect([...asked, ...(await syncMonths(given))]).toContain('2025-5');
      expect(await differences(database, sandbox, 5, ['financial_summaries'])).toEqual([]);
    },
    { 'invoice-fields': 'bare' },
  );
});

test('all months are read again after four weeks, with --full, and by a repair', async () => {
  await withReport(async given => {
    const { clock, sandbox, engine, tick } = given;
    const all = (await syncMonths(given)).length;
    await clock.advance(HOUR);
    expect((await tick(null)).filter(path => path.includes('/reports/')).length).toBe(2);
    await clock.advance(HOUR);
    expect((await syncMonths(given, { whole: true })).length).toBe(all);
    await clock.advance(27 * DAY);
    expect((await syncMonths(given)).length).toBeLessThan(5);
    await clock.advance(2 * DAY);
    expect((await syncMonths(given)).length).toBeGreaterThanOrEqual(all);
    const before = sandbox.stats.total;
    await serveOrders(engine, 'verify', { repair: true });
    expect(sandbox.stats.total - before).toBeGreaterThan(all);
  });
});

test('a transaction back-dated to before the oldest month adds that month and the empty ones after it', async () => {
  await withReport(async given => {
    const { database, sandbox, clock } = given;
    await syncMonths(given);
    await clock.advance(HOUR);
    const { rows } = await database.query<{ oldest: string }>(
      'select min(period) as oldest from warehouse.financial_summaries',
    );
    const oldest = rows[0]?.oldest as string;
    const date = `${Number(oldest.slice(0, 4)) - 1}-${oldest.slice(5)}-15`;
    sandbox.update('transactions', rowOf(sandbox, 'transactions', '2025-03'), { date, amount: 12 });
    await syncMonths(given);
    await clock.advance(HOUR);
    await syncMonths(given);
    const after = await database.query<{ period: string }>(
      'select period from warehouse.financial_summaries order by 1',
    );
    expect(after.rows[0]?.period).toBe(date.slice(0, 7));
    // No month in between is left out.
    expect(after.rows.findIndex(({ period }) => period === oldest)).toBe(12);
  });
});

test('a source that stops summing up months loses none of the stored ones', async () => {
  await withResource('financial_summaries', {}, async ({ database, sandbox, clock, engine }) => {
    await serveOrders(engine, 'sync');
    await clock.advance(HOUR);
    const before = await database.query('select from warehouse.financial_summaries');
    sandbox.setVariants({ report: 'absent' });
    const [order] = await serveOrders(engine, 'sync');
    expect(order).toMatchObject({ state: 'failed', reason: expect.stringMatching(/^The source has no /) as string });
    expect((await database.query('select from warehouse.financial_summaries')).rowCount).toBe(before.rowCount);
    expect((await database.query('select from sluice.missing')).rows).toEqual([]);
  });
});

test.each([
  ['financial_summaries', { report: 'absent' }],
  ['orders', { 'other-lists': '404' }],
  ['suppliers', { 'other-lists': '405' }],
] as const)(
  'a source without %s is not a failure, and the schedule requests the list once a day',
  async (resource, variants) => {
    await withResource(resource, { variants }, async ({ database, sandbox, clock, engine, tick }) => {
      for (const kind of ['sync', 'verify', 'backfill'] as const) {
        const [order] = await serveOrders(engine, kind);
        expect(order).toMatchObject({ state: 'done', reason: 'not offered by this source' });
        if (kind === 'verify') expect(order?.report).toMatchObject({ unproven: [] });
      }
      const asked = sandbox.stats.total;
      for (let hour = 0; hour < 24; hour += 3) {
        await tick();
        await clock.advance(3 * HOUR);
      }
      expect(sandbox.stats.total).toBe(asked);
      await tick();
      expect(sandbox.stats.total).toBe(asked + 1);
      const place = { source: 'main', resource, schema: 'warehouse' };
      expect(await resourceProofs(database.kysely, [place])).toMatchObject([{ absent: true }]);
      expect(await tableState(database.kysely, place)).toMatchObject({ newestChange: null });
      // Nothing that could be fresh is outdated.
      expect(await freshness(database.kysely, 'main', [resource])).toMatchObject([{ overdueSeconds: null }]);

      sandbox.setVariants({ report: 'by-date', 'other-lists': 'list' });
      const [order] = await serveOrders(engine, 'sync');
      expect(order).toMatchObject({ state: 'done', reason: null });
      expect(await differences(database, sandbox, 5, [resource])).toEqual([]);
      expect(await resourceProofs(database.kysely, [place])).toMatchObject([{ absent: false }]);
    });
  },
);
