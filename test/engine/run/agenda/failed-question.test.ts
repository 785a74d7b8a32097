import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../../sandbox/sandbox.ts';
import { HOUR, MINUTE } from '../../../../src/clock.ts';
import { newMemory } from '../../../../src/engine/run/agenda.ts';
import type { Engine } from '../../../../src/engine/run/engine.ts';
import { runLoop } from '../../../../src/engine/run/loop.ts';
import type { Database } from '../../../../src/warehouse/database/database.ts';
import { recordSlot } from '../../../../src/warehouse/ledgers/slots.ts';
import { differences } from '../../../support/compare.ts';
import { withDatabase } from '../../../support/database.ts';
import { long } from '../../../support/long.ts';
import { openEngine, serveOrders } from '../../../support/source.ts';
import { createVirtualClock, type VirtualClock } from '../../../support/virtual-clock.ts';

interface Served {
  readonly database: Database;
  readonly sandbox: Sandbox;
  readonly engine: Engine;
  readonly clock: VirtualClock;
  /** A tick every 15 minutes, as a service does it, for so long. */
  readonly pass: (ms: number) => Promise<void>;
  /** The state and the reason of the last tick of each list. */
  readonly lastTicks: () => Promise<Record<string, { state: string; reason: string | null }>>;
}

async function withService(
  fn: (served: Served) => Promise<void>,
  { size, limit } = { size: { customers: 100, invoices: 120, transactions: 800 }, limit: 300 },
): Promise<void> {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({ size, clock });
    const engine = await openEngine(database, sandbox, { clock, pageSize: 20, limit });
    await serveOrders(engine, 'sync');
    const memory = newMemory();
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 15 * MINUTE) {
        const at = clock.now();
        for (const { name } of engine.resources) await recordSlot(database.kysely, 'main', name, new Date(at));
        const serves = { orders: () => false, slots: true, agenda: memory, othersWait: () => false } as const;
        await runLoop(engine, serves, new AbortController().signal).catch((error: unknown) => error);
        await clock.advance(at + 15 * MINUTE - clock.now());
      }
    };
    const lastTicks = async () => {
      const { rows } = await database.query<{ resource: string; state: string; reason: string | null }>(
        `select distinct on (resource) resource, state, reason from sluice.runs where kind = 'slot' order by resource, id desc`,
      );
      return Object.fromEntries(rows.map(({ resource, state, reason }) => [resource, { state, reason }]));
    };
    await fn({ database, sandbox, engine, clock, pass, lastTicks });
    await engine.close();
    await sandbox.close();
  });
}

long(
  'windows that always fail keep no other slice from being read, and each tick fails until they answer',
  async () => {
    await withService(async ({ database, sandbox, engine, pass, lastTicks }) => {
      sandbox.failNext('json-500', 1_000_000, /\/transactions.*=2024-/);
      await pass(30 * MINUTE);
      sandbox.changeRandom(30);
      await pass(1.5 * HOUR);
      expect(await lastTicks()).toMatchObject({
        customers: { state: 'done' },
        invoices: { state: 'done' },
        transactions: { state: 'failed', reason: expect.stringMatching(/=2024-.*failed 6 times/) as string },
      });
      const left = await differences(database, sandbox, 100);
      const { rows } = await database.query<{ id: string }>(
        `select id::text from warehouse.transactions where date >= '2025-01-01'`,
      );
      const young = new Set(rows.map(({ id }) => `transactions ${id}`));
      expect(
        left.filter(text => !text.startsWith('transactions') || young.has(text.split(/[ \n]/).slice(0, 2).join(' '))),
      ).toEqual([]);

      sandbox.forgetFaults();
      await pass(HOUR);
      expect((await lastTicks()).transactions).toEqual({ state: 'done', reason: null });
      await serveOrders(engine, 'sync');
      expect(await differences(database, sandbox)).toEqual([]);
    });
  },
  120_000,
);

const SMALL = { size: { customers: 100, invoices: 60, transactions: 200 }, limit: 200 };

test('beyond the loss limit each tick fails, not every other one', async () => {
  await withService(async ({ database, sandbox, pass, lastTicks }) => {
    for (const { id } of [...sandbox.rows('customers')].slice(0, 40) as { id: number }[])
      sandbox.remove('customers', id);
    await pass(30 * MINUTE);
    for (let tick = 0; tick < 3; tick++) {
      await pass(15 * MINUTE);
      expect((await lastTicks()).customers).toMatchObject({
        state: 'failed',
        reason: expect.stringContaining('no longer shows') as string,
      });
    }
    const { rows } = await database.query(
      `select from warehouse.row_history where resource = 'customers' and ended_by = 'deleted'`,
    );
    expect(rows).toEqual([]);
  }, SMALL);
}, 120_000);

test('a key that is rejected between ticks is tried once, and the runs of the last ticks say so', async () => {
  await withService(async ({ database, sandbox, clock, pass, lastTicks }) => {
    await pass(15 * MINUTE);
    const engine = await openEngine(database, { ...sandbox, apiKey: 'revoked' }, { clock });
    const before = sandbox.stats.total;
    const serves = { orders: () => false, slots: true, agenda: newMemory() } as const;
    for (let wakeUp = 0; wakeUp < 5; wakeUp++)
      await runLoop(engine, serves, new AbortController().signal).catch((error: unknown) => error);
    expect(sandbox.stats.total - before).toBeGreaterThan(0);
    expect(sandbox.stats.total - before).toBeLessThanOrEqual(engine.concurrency);
    expect((await lastTicks()).customers?.state).toBe('failed');
    await engine.close();
  }, SMALL);
});
