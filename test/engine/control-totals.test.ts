import { expect, test, vi } from 'vitest';
import { HOUR } from '../../src/clock.ts';
import type { LoopEvent } from '../../src/engine/run/engine.ts';
import { runLoop } from '../../src/engine/run/loop.ts';
import { sliceText } from '../../src/engine/slices/slice.ts';
import { parseVariants } from '../../src/sandbox/parse/parse-variants.ts';
import { openSandbox } from '../../src/sandbox/sandbox.ts';
import { recordSlot } from '../../src/warehouse/ledgers/slots.ts';
import { createTestDatabase } from '../support/database.ts';
import { openEngine, serveOrders } from '../support/source.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

vi.setConfig({ testTimeout: 240_000 });

/** A list of which a slot can read again only a small part, 20 rows a page, so that a month is dearer than its total. */
async function open(variants: string) {
  const own = await createTestDatabase();
  const database = await own.open();
  const clock = await createVirtualClock(database, '2026-01-15T10:00:00.000Z');
  const sandbox = await openSandbox({
    seed: 7,
    size: { customers: 20, invoices: 50, transactions: 2400 },
    clock,
    rateLimit: 0,
    variants: parseVariants(`limit-max=ignored,${variants}`),
  });
  const read: string[] = [];
  const onEvent = (event: LoopEvent) => {
    if (event.kind === 'committed') read.push(sliceText(event.step.slice));
  };
  const engine = await openEngine(database, sandbox, {
    clock,
    limit: 120,
    windowMs: 30_000,
    concurrency: 1,
    resources: ['transactions'],
    onEvent,
  });
  /** The slots of some hours; returns the slices that were read. */
  const slots = async (hours: number) => {
    read.length = 0;
    for (let hour = 0; hour < hours; hour++) {
      await clock.advance(HOUR);
      await recordSlot(database.kysely, 'main', 'transactions', new Date(clock.now()));
      await runLoop(engine, { orders: () => false, slots: true }, new AbortController().signal);
    }
    return [...read];
  };
  await slots(1);
  await serveOrders(engine, 'sync');
  return {
    database,
    sandbox,
    slots,
    trust: async () => {
      const { rows } = await database.query<{ value: string }>(
        `select value from sluice.traits where resource = 'transactions' and trait = 'control totals'`,
      );
      return rows[0]?.value;
    },
    close: async () => {
      await engine.close();
      await sandbox.close();
      await database.close();
      await own.drop();
    },
  };
}

test('a month whose total no longer agrees is read before all others, once', async () => {
  const { sandbox, slots, trust, database, close } = await open('report=by-date');
  try {
    await slots(1);
    expect(await trust()).toBe('agree');
    // All months are asked for once, then one of them changes.
    await slots(12);
    const { rows: oldest } = await database.query<{ month: string }>(
      `select substr(slice, 7) as month from sluice.coverage where slice like 'total %' order by read_at, slice limit 1`,
    );
    const month = oldest[0]?.month ?? '';
    const changed = [...sandbox.rows('transactions')].find(row => String(row.date).startsWith(month));
    if (!changed) throw new Error('the sandbox has no row of that month');
    sandbox.update('transactions', changed.id, { amount: 123456.78 });
    // A month that was never asked for comes first.
    let after: string[] = [];
    for (let hour = 0; hour < 12 && !after.includes(`total ${month}`); hour++) after = await slots(1);
    const asked = after.indexOf(`total ${month}`);
    expect(asked).toBeGreaterThanOrEqual(0);
    expect(after[asked + 1]).toBe(
      `date ${month}-01..${month}-${new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).getUTCDate()}`,
    );
    const { rows } = await database.query<{ amount: string }>(
      'select amount::text from warehouse.transactions where id = $1',
      [changed.id],
    );
    expect(rows[0]?.amount).toBe('123456.78');
    // It agrees again, and is not read again for its total's sake.
    await slots(2);
    const { rows: apart } = await database.query(
      `select slice from sluice.coverage where slice like 'total %' and due_reason is not null`,
    );
    expect(apart).toEqual([]);
  } finally {
    await close();
  }
});

test('totals that follow other rules are reported and not obeyed; where there are none, none are asked for', async () => {
  for (const [report, expected] of [
    ['other-rules', 'other rules'],
    ['absent', 'absent'],
  ] as const) {
    const { sandbox, slots, trust, close } = await open(`report=${report}`);
    try {
      await slots(2);
      expect(await trust()).toBe(expected);
      const before = sandbox.stats.total;
      const read = await slots(2);
      expect(sandbox.stats.total).toBeGreaterThan(before);
      expect(read.filter(slice => slice.startsWith('total'))).toEqual([]);
    } finally {
      await close();
    }
  }
});
