import { expect, test } from 'vitest';
import { DAY, HOUR } from '../../../src/clock.ts';
import { runLoop } from '../../../src/engine/run/loop.ts';
import { openSandbox, type Sandbox, type SandboxOptions } from '../../../src/sandbox/sandbox.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { freshness } from '../../../src/warehouse/ledgers/incidents.ts';
import { recordSlot } from '../../../src/warehouse/ledgers/slots.ts';
import { resourceState } from '../../../src/warehouse/reports/report.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import type { TestResource } from '../../support/resources.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

interface Given {
  database: Database;
  sandbox: Sandbox;
  clock: VirtualClock;
  engine: Awaited<ReturnType<typeof openEngine>>;
  /** Serves a tick of the resource's schedule; returns what was asked of the source. */
  tick: () => Promise<string[]>;
}

async function withResource(
  resource: TestResource,
  options: SandboxOptions,
  fn: (given: Given) => Promise<void>,
): Promise<void> {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, '2026-01-31T22:00:00.000Z');
    const size = { customers: 10, invoices: 40, transactions: 200 };
    const sandbox = await openSandbox({ size, clock, rateLimit: 0, ...options });
    const engine = await openEngine(database, sandbox, { clock, limit: 100_000, resources: [resource] });
    const tick = async () => {
      const before = sandbox.stats.total;
      await recordSlot(database.kysely, 'main', resource, new Date(clock.now()));
      await runLoop(engine, { orders: () => false, slots: true }, new AbortController().signal);
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

test('a closed month is read until it no longer changes, and back-dated changes in older months are found too', async () => {
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
      for (let hour = 0; hour < 24; hour++) {
        await tick();
        await clock.advance(HOUR);
      }
      expect(sandbox.stats.total).toBe(asked);
      await tick();
      expect(sandbox.stats.total).toBe(asked + 1);
      const state = await resourceState(database.kysely, { source: 'main', resource, schema: 'warehouse' });
      expect(state).toMatchObject({ absent: true, rows: 0 });
      // Nothing that could be fresh is outdated.
      expect(await freshness(database.kysely, 'main', [resource])).toMatchObject([{ overdueSeconds: null }]);

      sandbox.setVariants({ report: 'by-date', 'other-lists': 'list' });
      const [order] = await serveOrders(engine, 'sync');
      expect(order).toMatchObject({ state: 'done', reason: null });
      expect(await differences(database, sandbox, 5, [resource])).toEqual([]);
      expect(await resourceState(database.kysely, { source: 'main', resource, schema: 'warehouse' })).toMatchObject({
        absent: false,
      });
    });
  },
);
