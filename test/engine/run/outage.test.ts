import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { MINUTE } from '../../../src/clock.ts';
import type { Serves } from '../../../src/engine/run/engine.ts';
import { runLoop } from '../../../src/engine/run/loop.ts';
import { FAILURES } from '../../../src/source/requests/retry.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { adoptOrder, createOrder, readOrders } from '../../../src/warehouse/ledgers/orders.ts';
import { whatIsDue } from '../../../src/warehouse/reports/due.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const SERVICE: Serves = { orders: () => true, slots: true };
const ALONE: Serves = { orders: () => true, slots: false };
const WISH = { source: 'main', resource: 'invoices', kind: 'backfill' } as const;

async function withInvoices(
  fn: (given: {
    database: Database;
    clock: VirtualClock;
    sandbox: Sandbox;
    open: (source: Sandbox) => ReturnType<typeof openEngine>;
  }) => Promise<void>,
): Promise<void> {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, undefined, { quietMs: 5 });
    const sandbox = await openSandbox({ rateLimit: 0, clock });
    const open = (source: Sandbox) =>
      openEngine(database, source, { clock, limit: 100_000, concurrency: 1, resources: ['invoices'] });
    await fn({ database, clock, sandbox, open });
    await sandbox.close();
  });
}

test('an outage or a rejected key ends the run of an order, and a service continues the order ten minutes later', async () => {
  await withInvoices(async ({ database, clock, sandbox, open }) => {
    const engine = await open(sandbox);
    await serveOrders(engine, 'sync');
    const refused = await open({ ...sandbox, apiKey: 'wrong' });
    await clock.advance(MINUTE);
    const { id, createdAt } = await createOrder(database.kysely, WISH);
    const read = (by = engine) => runLoop(by, SERVICE, new AbortController().signal).catch(error => error.kind);
    const due = async () => (await whatIsDue(database.kysely, 'main')).now;

    for (const [by, times] of [
      [engine, FAILURES.attempts],
      [refused, 1],
    ] as const) {
      if (by === engine) sandbox.failNext('json-500', 100);
      const asked = sandbox.stats.total;
      expect(await due()).toBe(true);
      await read(by);
      const [order] = await readOrders(database.kysely, [id]);
      expect(order).toMatchObject({ state: 'waiting', rests: true, endedAt: null, createdAt });
      expect(order?.reason).toMatch(/failed 6 times|key/);
      expect(sandbox.stats.total - asked).toBe(times);
      for (let minute = 0; minute < 9; minute++) {
        await clock.advance(MINUTE);
        expect(await due()).toBe(false);
        await read(by);
      }
      expect(sandbox.stats.total - asked).toBe(times);
      await clock.advance(2 * MINUTE);
      sandbox.forgetFaults();
    }
    await read();
    expect(await readOrders(database.kysely, [id])).toMatchObject([{ state: 'done', reason: null, createdAt }]);
    const { rows } = await database.query(`select state, failure from sluice.runs where kind = 'backfill' order by id`);
    expect(rows).toEqual([
      { state: 'failed', failure: 'unavailable' },
      { state: 'failed', failure: 'unauthorized' },
      { state: 'done', failure: null },
    ]);
    expect((await differences(database, sandbox)).filter(text => text.startsWith('invoices'))).toEqual([]);
    await refused.close();
    await engine.close();
  });
});

test('without a service to continue it, the order fails; the same order placed again does not wait', async () => {
  await withInvoices(async ({ database, sandbox, open }) => {
    const engine = await open(sandbox);
    const { id } = await createOrder(database.kysely, WISH);
    sandbox.failNext('json-500', 100);
    await runLoop(engine, ALONE, new AbortController().signal);
    expect(await readOrders(database.kysely, [id])).toMatchObject([{ state: 'failed' }]);

    const next = await createOrder(database.kysely, WISH);
    await runLoop(engine, SERVICE, new AbortController().signal);
    expect(await readOrders(database.kysely, [next.id])).toMatchObject([{ state: 'waiting', rests: true }]);
    const same = { ...WISH, dateFrom: null, dateTo: null, repair: false, acceptDeletes: 0 };
    expect(await adoptOrder(database.kysely, same)).toMatchObject({ id: next.id, rests: false });
    expect((await whatIsDue(database.kysely, 'main')).now).toBe(true);
    await engine.close();
  });
});

test('a list whose rows lost their ids fails alone: its reading releases the only place for an answer', async () => {
  const sandbox = await openSandbox({ rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, {
      limit: 100_000,
      concurrency: 1,
      resources: ['customers', 'transactions'],
    });
    await serveOrders(engine, 'sync');
    sandbox.setVariants({ 'transaction-ids': 'no' });
    const [customers, transactions] = await serveOrders(engine, 'sync');
    expect(customers?.reason ?? customers?.state).toBe('done');
    expect(transactions).toMatchObject({ state: 'failed' });
    expect(transactions?.reason).toContain('no longer carry the field "id"');
    await engine.close();
  });
  await sandbox.close();
});
