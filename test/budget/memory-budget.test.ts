import { expect, it } from 'vitest';
import type { Budget, Grant } from '../../src/budget/budget.ts';
import { createMemoryBudget } from '../../src/budget/memory-budget.ts';
import { HOUR, MINUTE, SECOND } from '../../src/clock.ts';
import { manualClock } from '../support/manual-clock.ts';

/** One grant; the budget must have one. */
async function one(budget: Budget): Promise<Grant> {
  const [grant] = (await budget.take('live', 1)).grants;
  if (!grant) throw new Error('no grant');
  return grant;
}

const done = { purpose: 'test', status: 200 };

it('a request counts from its grant until one window after it was settled', async () => {
  const clock = manualClock();
  const budget = createMemoryBudget({ clock, limit: 2 });
  const first = await one(budget);
  await one(budget);
  expect(await budget.take('live', 1)).toEqual({ grants: [], waitMs: HOUR });
  clock.advance(10 * MINUTE);
  await budget.settle(first, done);
  clock.advance(HOUR - 1);
  expect(await budget.take('live', 1)).toEqual({ grants: [], waitMs: 1 });
  clock.advance(1);
  expect((await budget.take('live', 5)).grants).toHaveLength(1);
});

it.each([
  [1000, 500, 990],
  [60, 30, 59],
  [150, 75, 148],
  [10, 5, 9],
  [1, 1, 1],
])(
  'of a limit of %i, the lower lanes burst over half, are then paced, and leave 1%% to live, rounded up',
  async (limit, burst, lower) => {
    const clock = manualClock();
    const budget = createMemoryBudget({ clock, limit });
    expect((await budget.take('backfill', 5000)).grants).toHaveLength(burst);
    const pauseMs = Math.ceil(HOUR / limit);
    const wait = { grants: [], waitMs: pauseMs };
    expect(await budget.take('verify', 5)).toEqual(limit > 1 ? { ...wait, paced: true } : wait);
    for (let granted = burst; granted < lower; granted++) {
      clock.advance(pauseMs - 1);
      expect((await budget.take('backfill', 5)).waitMs).toBe(1);
      clock.advance(1);
      expect((await budget.take('backfill', 5)).grants).toHaveLength(1);
    }
    clock.advance(pauseMs);
    expect((await budget.take('verify', 1)).grants).toHaveLength(0);
    expect((await budget.take('live', 5000)).grants).toHaveLength(limit - lower);
    expect((await budget.take('live', 1)).grants).toHaveLength(0);
  },
);

it('paces over several windows, none of which ever holds more than the limit', async () => {
  const clock = manualClock();
  const budget = createMemoryBudget({ clock, limit: 20, windowMs: MINUTE });
  const sent: number[] = [];
  for (let second = 0; second < 300; second++) {
    const lane = second % 7 === 0 ? 'live' : 'backfill';
    for (const grant of (await budget.take(lane, 3)).grants) {
      sent.push(clock.now());
      await budget.settle(grant, done);
    }
    clock.advance(SECOND);
  }
  const most = Math.max(...sent.map(end => sent.filter(at => at > end - MINUTE && at <= end).length));
  expect(most).toBe(20);
  expect(sent.length).toBeGreaterThanOrEqual(95);
});

it('a released grant stops counting at once', async () => {
  const budget = createMemoryBudget({ clock: manualClock(), limit: 3 });
  const { grants } = await budget.take('live', 3);
  await budget.release(grants.slice(1));
  expect((await budget.take('live', 3)).grants).toHaveLength(2);
});

it('grants nothing on any lane while the server blocks the key', async () => {
  const clock = manualClock();
  const budget = createMemoryBudget({ clock, limit: 10 });
  await budget.settle(await one(budget), { purpose: 'test', status: 429, blockedForMs: 5 * MINUTE });
  expect(await budget.take('live', 1)).toEqual({ grants: [], waitMs: 5 * MINUTE });
  clock.advance(5 * MINUTE);
  expect((await budget.take('live', 1)).grants).toHaveLength(1);
});

it("the server's own count and limit lower the budget, and never raise it", async () => {
  const budget = createMemoryBudget({ clock: manualClock(), limit: 100 });
  await budget.settle(await one(budget), { ...done, remaining: 10, limit: 100 });
  const second = await one(budget);
  expect((await budget.take('live', 100)).grants).toHaveLength(9);
  expect((await budget.take('live', 1)).grants).toHaveLength(0);
  // Eleven count here: the server no longer counts more than that, and its larger limit is not ours.
  await budget.settle(second, { ...done, remaining: 5000, limit: 9999 });
  expect((await budget.take('live', 1000)).grants).toHaveLength(100 - 11);
  expect((await budget.take('live', 1)).grants).toHaveLength(0);
});

it("the server's count and its smaller limit lapse one window after it last reported them", async () => {
  const clock = manualClock();
  const budget = createMemoryBudget({ clock, limit: 100 });
  const [first, second] = [await one(budget), await one(budget)];
  await budget.settle(first, { ...done, limit: 10 });
  await budget.settle(second, { ...done, remaining: 0 });
  expect(await budget.take('live', 1)).toEqual({ grants: [], waitMs: HOUR });
  clock.advance(HOUR);
  expect((await budget.take('live', 1000)).grants).toHaveLength(100);
});

it('a key that is refused again and again stays blocked for as long as that has gone on, at most ten minutes', async () => {
  const clock = manualClock();
  const budget = createMemoryBudget({ clock, limit: 100 });
  const refused = { purpose: 'test', status: 429, blockedForMs: SECOND };
  const grants = (await budget.take('live', 4)).grants as [Grant, Grant, Grant, Grant];
  for (const [nth, minutes] of [0, 3, 20].entries()) {
    clock.advance(minutes * MINUTE);
    await budget.settle(grants[nth] as Grant, refused);
    expect(await budget.take('live', 1)).toEqual({ grants: [], waitMs: [SECOND, 3 * MINUTE, 10 * MINUTE][nth] });
  }
  await budget.settle(grants[3], done);
  clock.advance(10 * MINUTE);
  await budget.settle(await one(budget), refused);
  expect(await budget.take('live', 1)).toEqual({ grants: [], waitMs: SECOND });
});

it('counts a request once, however often its grant is settled or released', async () => {
  const clock = manualClock();
  const budget = createMemoryBudget({ clock, limit: 2 });
  const grant = await one(budget);
  await budget.settle(grant, done);
  clock.advance(MINUTE);
  await budget.settle(grant, done);
  await budget.release([grant]);
  await one(budget);
  expect(await budget.take('live', 1)).toEqual({ grants: [], waitMs: 59 * MINUTE });
});

it('stamps grants with strictly increasing timestamptz texts', async () => {
  const { grants } = await createMemoryBudget({ clock: manualClock(), limit: 3 }).take('live', 3);
  expect(grants.map(({ grantedAt }) => grantedAt)).toEqual([
    '2026-01-15 10:00:00.000000+00',
    '2026-01-15 10:00:00.000001+00',
    '2026-01-15 10:00:00.000002+00',
  ]);
});

it('after the clock was set back, nothing is held up for longer than a window, and the limit holds', async () => {
  const clock = manualClock();
  const budget = createMemoryBudget({ clock, limit: 4 });
  const [first, second] = [await one(budget), await one(budget)];
  expect((await budget.take('backfill', 1)).grants).toHaveLength(1);
  await budget.settle(first, { ...done, status: 429, blockedForMs: MINUTE });
  clock.advance(-5 * HOUR);
  expect(await budget.take('live', 1)).toEqual({ grants: [], waitMs: HOUR });
  await budget.settle(second, done);
  clock.advance(HOUR - 1);
  expect((await budget.take('live', 1)).grants).toHaveLength(0);
  clock.advance(1);
  expect((await budget.take('live', 4)).grants).toHaveLength(3);
  // A pace that a backfill set before is dropped, and set again by the next.
  const paced = createMemoryBudget({ clock, limit: 10 });
  expect((await paced.take('backfill', 10)).grants).toHaveLength(5);
  clock.advance(-5 * HOUR);
  expect((await paced.take('backfill', 10)).grants).toHaveLength(1);
  expect(await paced.take('backfill', 1)).toEqual({ grants: [], waitMs: HOUR / 10, paced: true });
});
