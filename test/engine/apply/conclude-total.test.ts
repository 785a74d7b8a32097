import { expect, test, vi } from 'vitest';
import { HOUR } from '../../../src/clock.ts';
import type { LoopEvent } from '../../../src/engine/run/engine.ts';
import { runLoop } from '../../../src/engine/run/loop.ts';
import { monthRange } from '../../../src/engine/slices/date-windows.ts';
import { sliceText } from '../../../src/engine/slices/slice.ts';
import { parseVariants } from '../../../src/sandbox/parse/parse-variants.ts';
import { openSandbox } from '../../../src/sandbox/sandbox.ts';
import { recordSlot } from '../../../src/warehouse/ledgers/slots.ts';
import { createTestDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

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
    limit: 40,
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
      await runLoop(engine, { orders: () => false, slots: true, pace: 'ticks' }, new AbortController().signal);
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

test('a month whose total no longer agrees is read soon, and only once', async () => {
  const { sandbox, slots, trust, database, close } = await open('report=by-date');
  try {
    await slots(1);
    expect(await trust()).toBe('agree');
    // The next month to be asked for is the newest whose total was not asked for yet.
    const { rows: oldest } = await database.query<{ month: string }>(
      `select to_char(to_date(min(substr(slice, 7)), 'YYYY-MM') - 1, 'YYYY-MM') as month from sluice.coverage where slice like 'total %'`,
    );
    const month = oldest[0]?.month ?? '';
    const changed = [...sandbox.rows('transactions')].find(row => String(row.date).startsWith(month));
    if (!changed) throw new Error('the sandbox has no row of that month');
    sandbox.update('transactions', changed.id, { amount: 123456.78 });
    let after: string[] = [];
    for (let hour = 0; hour < 3 && !after.includes(`total ${month}`); hour++) after = await slots(1);
    const asked = after.indexOf(`total ${month}`);
    expect(asked).toBeGreaterThanOrEqual(0);
    const { from, to } = monthRange(month);
    expect(after.slice(asked)).toContain(`date ${from}..${to}`);
    const { rows } = await database.query<{ amount: string }>(
      'select amount::text from warehouse.transactions where id = $1',
      [changed.id],
    );
    expect(rows[0]?.amount).toBe('123456.78');
    // Asked again, it agrees.
    expect(await slots(2)).toContain(`total ${month}`);
    const { rows: apart } = await database.query(
      `select slice from sluice.coverage where slice like 'total %' and due_reason is not null`,
    );
    expect(apart).toEqual([]);
  } finally {
    await close();
  }
});

test.each([
  ['other-rules', 'other rules'],
  ['absent', 'absent'],
] as const)('with report=%s the profile records it, and no further total is requested', async (report, expected) => {
  const { sandbox, slots, trust, close } = await open(`report=${report}`);
  try {
    await slots(1);
    expect(await trust()).toBe(expected);
    const before = sandbox.stats.total;
    const read = await slots(1);
    expect(sandbox.stats.total).toBeGreaterThan(before);
    expect(read.filter(slice => slice.startsWith('total'))).toEqual([]);
  } finally {
    await close();
  }
});
