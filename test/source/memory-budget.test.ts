import { expect, it } from 'vitest';
import type { Budget, Grant } from '../../src/budget/budget.ts';
import { createMemoryBudget } from '../../src/budget/memory-budget.ts';
import { HOUR, MINUTE, SECOND } from '../../src/clock.ts';
import { manualClock } from './manual-clock.ts';

/** One grant; the budget must have one. */
async function one(budget: Budget): Promise<Grant> {
  const [grant] = (await budget.take('live', 1)).grants;
  if (!grant) throw new Error('no grant');
  return grant;
}

const done = { purpose: 'test', status: 200 };

it('counts a request from its grant until one window after it was settled', async () => {
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
  [10, 5, 10],
])('of %i leaves 1%% to live, at least one from 50 on; a burst of half, then a pace', async (limit, burst, lower) => {
  const clock = manualClock();
  const budget = createMemoryBudget({ clock, limit });
  expect((await budget.take('backfill', 5000)).grants).toHaveLength(burst);
  const pauseMs = Math.ceil(HOUR / limit);
  expect(await budget.take('verify', 5)).toEqual({ grants: [], waitMs: pauseMs, paced: true });
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
});

it('paces to the end of a window and beyond without ever holding more than the limit', async () => {
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

it('forgets released grants at once', async () => {
  const budget = createMemoryBudget({ clock: manualClock(), limit: 3 });
  const { grants } = await budget.take('live', 3);
  await budget.release(grants.slice(1));
  expect((await budget.take('live', 3)).grants).toHaveLength(2);
});

it('holds everyone back while the server blocks the key', async () => {
  const clock = manualClock();
  const budget = createMemoryBudget({ clock, limit: 10 });
  await budget.settle(await one(budget), { purpose: 'test', status: 429, blockedForMs: 5 * MINUTE });
  expect(await budget.take('live', 1)).toEqual({ grants: [], waitMs: 5 * MINUTE });
  clock.advance(5 * MINUTE);
  expect((await budget.take('live', 1)).grants).toHaveLength(1);
});

it("is lowered, never raised, by the server's own count and limit", async () => {
  const budget = createMemoryBudget({ clock: manualClock(), limit: 100 });
  await budget.settle(await one(budget), { ...done, remaining: 10, limit: 100 });
  const second = await one(budget);
  expect((await budget.take('live', 100)).grants).toHaveLength(9);
  await budget.settle(second, { ...done, remaining: 5000, limit: 9999 });
  expect((await budget.take('live', 1)).grants).toHaveLength(0);
});

it('names grants by strictly increasing timestamptz texts', async () => {
  const { grants } = await createMemoryBudget({ clock: manualClock(), limit: 3 }).take('live', 3);
  expect(grants.map(({ grantedAt }) => grantedAt)).toEqual([
    '2026-01-15 10:00:00.000000+00',
    '2026-01-15 10:00:00.000001+00',
    '2026-01-15 10:00:00.000002+00',
  ]);
});

it('holds nothing up for longer than a window when the clock is put back, and keeps the limit', async () => {
  const clock = manualClock();
  const budget = createMemoryBudget({ clock, limit: 3 });
  const [first, second] = [await one(budget), await one(budget)];
  expect((await budget.take('backfill', 1)).grants).toHaveLength(1);
  await budget.settle(first, { ...done, status: 429, blockedForMs: MINUTE });
  clock.advance(-5 * HOUR);
  expect(await budget.take('live', 1)).toEqual({ grants: [], waitMs: HOUR });
  await budget.settle(second, done);
  clock.advance(HOUR - 1);
  expect((await budget.take('live', 1)).grants).toHaveLength(0);
  clock.advance(1);
  expect((await budget.take('live', 3)).grants).toHaveLength(2);
  // The pace, too, which a backfill set before.
  const paced = createMemoryBudget({ clock, limit: 10 });
  expect((await paced.take('backfill', 10)).grants).toHaveLength(5);
  clock.advance(-5 * HOUR);
  expect(await paced.take('backfill', 1)).toEqual({ grants: [], waitMs: HOUR / 10, paced: true });
});
