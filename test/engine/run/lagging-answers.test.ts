import { expect, test } from 'vitest';
import type { Counts } from '../../../sandbox/data/data.ts';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { MINUTE, SECOND } from '../../../src/clock.ts';
import type { LoopEvent } from '../../../src/engine/run/engine.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const LIST = 'customers';

interface Given {
  readonly sandbox: Sandbox;
  readonly database: Database;
  readonly clock: VirtualClock;
  readonly engine: Awaited<ReturnType<typeof openEngine>>;
  readonly events: readonly LoopEvent[];
  /** Ids of the rows that were deleted in the warehouse. */
  readonly deleted: () => Promise<string[]>;
}

/** A list that was synced in full long ago. */
async function withSyncedList(
  lagMs: number,
  fn: (given: Given) => Promise<void>,
  { list, size }: { list: 'customers' | 'transactions'; size: Counts } = {
    list: LIST,
    size: { customers: 30, invoices: 1, transactions: 1 },
  },
): Promise<void> {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({ size, rateLimit: 0, clock });
    const events: LoopEvent[] = [];
    const onEvent = (event: LoopEvent) => void events.push(event);
    const engine = await openEngine(database, sandbox, {
      ...{ clock, limit: 100_000, resources: [list], lagMs, onEvent, concurrency: 1 },
    });
    await serveOrders(engine, 'sync');
    await clock.advance(10 * MINUTE);
    const deleted = async () => {
      const { rows } = await database.query<{ key: string }>(
        "select key from warehouse.row_history where ended_by = 'deleted'",
      );
      return rows.map(({ key }) => key);
    };
    await fn({ sandbox, database, clock, engine, events, deleted });
    await engine.close();
    await sandbox.close();
  });
}

const repair = { repair: true } as const;

test('a row that has just appeared is not deleted because a lagging replica lacks it; a repair waits and asks again', () =>
  withSyncedList(MINUTE, async ({ sandbox, database, clock, engine, events, deleted }) => {
    sandbox.change('customer-new');
    await clock.advance(SECOND);
    await serveOrders(engine, 'sync');
    sandbox.setVariants({ stale: 'replica' });
    await clock.advance(SECOND);
    const begun = clock.now();
    const [order] = await serveOrders(engine, 'verify', repair);
    expect(order?.state).toBe('done');
    expect(await deleted()).toEqual([]);
    expect(await differences(database, sandbox, 5, [LIST])).toEqual([]);
    const pauses = events.flatMap(event => (event.kind === 'pausing' ? [event.waitMs] : []));
    expect(pauses).toHaveLength(1);
    expect(pauses[0]).toBeLessThanOrEqual(MINUTE);
    expect(clock.now() - begun).toBeLessThan(2 * MINUTE);
  }));

test('with SOURCE_LAG_SECONDS=0 such a row is deleted at once', () =>
  withSyncedList(0, async ({ sandbox, clock, engine, deleted }) => {
    const { id } = sandbox.change('customer-new') ?? {};
    await clock.advance(SECOND);
    await serveOrders(engine, 'sync');
    sandbox.setVariants({ stale: 'replica' });
    await clock.advance(SECOND);
    await serveOrders(engine, 'verify', repair);
    expect(await deleted()).toEqual([String(id)]);
  }));

test('a sync does not wait: the slices it could not believe are due once answers no longer lag', () =>
  withSyncedList(MINUTE, async ({ sandbox, database, clock, engine, events, deleted }) => {
    const { id } = sandbox.change('customer-new') ?? {};
    await clock.advance(SECOND);
    await serveOrders(engine, 'sync');
    sandbox.remove(LIST, id as number);
    await clock.advance(SECOND);
    await serveOrders(engine, 'sync');
    expect(events.some(({ kind }) => kind === 'pausing')).toBe(false);
    expect(await deleted()).toEqual([]);
    const { rows } = await database.query(
      'select due_reason, due_since > sluice.now() as later from sluice.coverage where due_since is not null',
    );
    expect(rows).toEqual([{ due_reason: 'it lacked rows that had just appeared', later: true }]);
    await clock.advance(MINUTE);
    await serveOrders(engine, 'sync');
    expect(await deleted()).toEqual([String(id)]);
  }));

test('an answer that is older by its own updated_at does not replace a row that was stored within the lag', () =>
  withSyncedList(MINUTE, async ({ sandbox, database, clock, engine }) => {
    const phoneOf = async () => {
      const { rows } = await database.query<{ phone: string }>('select phone from warehouse.customers where id = 7');
      return rows[0]?.phone;
    };
    const before = await phoneOf();
    sandbox.update(LIST, 7, { phone: '555', updated_at: new Date(clock.now()).toISOString() });
    await clock.advance(SECOND);
    await serveOrders(engine, 'sync');
    expect(await phoneOf()).toBe('555');
    sandbox.setVariants({ stale: 'replica' });
    await clock.advance(SECOND);
    await serveOrders(engine, 'sync');
    expect(await phoneOf()).toBe('555');
    // After the lag an older row is believed: somebody may have restored a backup.
    sandbox.update(LIST, 7, { phone: before ?? null, updated_at: '2020-01-01T00:00:00Z' });
    await clock.advance(2 * MINUTE);
    await serveOrders(engine, 'sync');
    expect(await phoneOf()).toBe(before);
  }));

test('a repair does not wait for a row that has moved to another slice: nothing is in doubt', () =>
  withSyncedList(
    MINUTE,
    async ({ sandbox, database, clock, engine, events, deleted }) => {
      sandbox.update('transactions', 700, { date: '2025-01-05' });
      await clock.advance(SECOND);
      await serveOrders(engine, 'sync');
      sandbox.update('transactions', 700, { date: '2010-01-01' });
      await clock.advance(SECOND);
      const [order] = await serveOrders(engine, 'verify', repair);
      expect(order?.state).toBe('done');
      expect(events.some(({ kind }) => kind === 'pausing')).toBe(false);
      expect(await deleted()).toEqual([]);
      expect(await differences(database, sandbox, 5, ['transactions'])).toEqual([]);
    },
    { list: 'transactions', size: { customers: 30, invoices: 1, transactions: 1500 } },
  ));
