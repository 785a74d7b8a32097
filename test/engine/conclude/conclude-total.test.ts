import { expect, test, vi } from 'vitest';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { HOUR, MINUTE } from '../../../src/clock.ts';
import type { LoopEvent } from '../../../src/engine/run/engine.ts';
import { monthRange, overlapDays } from '../../../src/engine/slices/date-windows.ts';
import { parseSlice, sliceText } from '../../../src/engine/slices/slice.ts';
import { createTestDatabase } from '../../support/database.ts';
import { keepFrom } from '../../support/keep-from.ts';
import { long } from '../../support/long.ts';
import { openEngine, serveOrders, serveTick } from '../../support/source.ts';
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
  keepFrom(sandbox, '2023-07-01');
  const read: string[] = [];
  const onEvent = (event: LoopEvent) => {
    if (event.kind === 'committed') read.push(sliceText(event.step.slice));
  };
  const opened = await openEngine(database, sandbox, {
    clock,
    limit: 600,
    windowMs: 15 * MINUTE,
    concurrency: 1,
    resources: ['transactions'],
    onEvent,
  });
  // The service rests between its ticks: however long, nothing is read for its age alone.
  const engine = { ...opened, mostSweeps: Number.POSITIVE_INFINITY };
  /** The slots of some hours, and what is asked after each; returns the slices that were read. */
  const slots = async (hours: number) => {
    read.length = 0;
    for (let hour = 0; hour < hours; hour++) {
      await clock.advance(HOUR);
      await serveTick(engine);
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

/** Whether a reading is of a window that holds days of the month. */
function holds(text: string, month: string): boolean {
  const slice = parseSlice(text);
  return slice.by === 'date' && overlapDays(slice, monthRange(month)) > 0;
}

test('a month whose total no longer agrees is read soon, and only once', async () => {
  const { sandbox, slots, trust, database, close } = await open('report=by-date');
  try {
    for (let hour = 0; hour < 12 && (await trust()) === undefined; hour++) await slots(1);
    expect(await trust()).toBe('agree');
    const months = new Map([...sandbox.rows('transactions')].map(row => [String(row.date).slice(0, 7), row.id]));
    for (const id of months.values()) sandbox.update('transactions', id, { amount: 123456.78 });
    const all: string[] = [];
    // The total showed that something had changed; then the rows were read.
    const isFound = (month: string) => {
      const asked = all.indexOf(`total ${month}`);
      const read = all.findIndex(text => holds(text, month));
      return asked >= 0 && asked < read;
    };
    for (let hour = 0; hour < 24 && ![...months.keys()].some(isFound); hour++) all.push(...(await slots(1)));
    const asked = [...months.keys()].find(isFound) ?? 'none';
    expect(months.keys()).toContain(asked);
    const { rows } = await database.query<{ amount: string }>(
      'select amount::text from warehouse.transactions where id = $1',
      [months.get(asked)],
    );
    expect(rows[0]?.amount).toBe('123456.78');
    // Asked again, they agree.
    const apart = async () => {
      const { rowCount } = await database.query(
        `select from sluice.coverage where slice like 'total %' and due_reason is not null`,
      );
      return rowCount;
    };
    for (let hour = 0; hour < 24 && (await apart()) !== 0; hour++) await slots(1);
    expect(await apart()).toBe(0);
  } finally {
    await close();
  }
});

long.each([
  ['other-rules', 'other rules'],
  ['absent', 'absent'],
] as const)('with report=%s the profile records it, and no further total is requested', async (report, expected) => {
  const { sandbox, slots, trust, close } = await open(`report=${report}`);
  try {
    // The sums of some months are the same by either rule.
    for (let hour = 0; hour < 12 && (await trust()) !== expected; hour++) await slots(1);
    expect(await trust()).toBe(expected);
    const before = sandbox.stats.total;
    const read = await slots(1);
    expect(sandbox.stats.total).toBeGreaterThan(before);
    expect(read.filter(slice => slice.startsWith('total'))).toEqual([]);
  } finally {
    await close();
  }
});
