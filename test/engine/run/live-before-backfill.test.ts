import { expect, test, vi } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { runLoop } from '../../../src/engine/run/loop.ts';
import { createOrder, readOrders } from '../../../src/warehouse/ledgers/orders.ts';
import { recordSlot } from '../../../src/warehouse/ledgers/slots.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

vi.setConfig({ testTimeout: 180_000 });

const CONCURRENCY = 4;
const SERVICE = { orders: () => true, slots: true };
/** Each of the two lists takes twenty-five requests to read. */
const LONG = { customers: 100, invoices: 2500, transactions: 2500 };

test.each(['invoices', 'transactions'] as const)(
  'a tick during a backfill of %s is served after the requests in flight, and then the backfill continues to its end',
  async resource => {
    await withDatabase(async database => {
      const clock = await createVirtualClock(database, '2026-01-15T10:00:00.000Z');
      // Each response takes a second, so that the loop looks for ticks in between.
      const sandbox = await openSandbox({ size: LONG, rateLimit: 0, today: '2026-01-15', clock, latencyMs: 1000 });
      const read: { kind: string; requests: number }[] = [];
      let tick: Promise<unknown> | undefined;
      let tickAfter = Number.POSITIVE_INFINITY;
      const engine = await openEngine(database, sandbox, {
        clock,
        limit: 100_000,
        concurrency: CONCURRENCY,
        resources: [resource],
        onEvent: event => {
          if (event.kind !== 'committed') return;
          read.push({ kind: event.task.kind, requests: event.step.requests });
          if (read.length >= tickAfter) tick ??= recordSlot(database.kysely, 'main', resource, new Date(clock.now()));
        },
      });
      await serveOrders(engine, 'sync');
      await clock.advance(3_600_000);
      sandbox.changeRandom(5);
      read.splice(0);
      tickAfter = 5;
      const { id } = await createOrder(database.kysely, { source: 'main', resource, kind: 'backfill' });
      await runLoop(engine, SERVICE, new AbortController().signal);
      await tick;

      const first = read.findIndex(each => each.kind === 'slot');
      expect(first).toBeGreaterThan(0);
      // Only requests that were in flight when the loop saw the tick, at most a second later, are committed first.
      const passed = read.slice(tickAfter, first).reduce((sum, each) => sum + each.requests, 0);
      expect(passed).toBeLessThanOrEqual(3 * CONCURRENCY);
      expect(read.slice(first).some(each => each.kind === 'backfill')).toBe(true);
      expect(await readOrders(database.kysely, [id])).toMatchObject([{ state: 'done' }]);
      const { rows } = await database.query("select state, requests > 0 as read from sluice.runs where kind = 'slot'");
      expect(rows).toEqual([{ state: 'done', read: true }]);
      const all = await differences(database, sandbox);
      expect(all.filter(text => text.startsWith(resource))).toEqual([]);
      await engine.close();
      await sandbox.close();
    });
  },
);
