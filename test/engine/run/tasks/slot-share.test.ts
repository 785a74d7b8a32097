import { describe, expect, test } from 'vitest';
import { slotShare } from '../../../../src/engine/run/tasks/slot-share.ts';

describe('the requests that a slot of a resource may spend', () => {
  const HOUR = 3_600_000;
  const RESOURCES = ['a', 'b', 'c'].map(name => ({ name }));
  const share = (name: string, weights: Record<string, number>, elapsedMs: number | null, lane?: 'backfill') =>
    slotShare(
      { limit: 900, windowMs: HOUR, weights, resources: RESOURCES },
      { name },
      { previousAt: elapsedMs === null ? null : 10 * HOUR - elapsedMs, now: 10 * HOUR },
      lane === 'backfill',
    );

  test('are an equal share of what the limit refilled since its last slot', () => {
    expect(share('a', {}, HOUR / 4)).toBe(75);
    expect(share('a', {}, 8 * HOUR)).toBe(300);
    expect(share('a', {}, null)).toBe(300);
    expect(share('a', {}, 0)).toBe(1);
  });

  test('grow with its weight, and shrink with the weight of the others', () => {
    expect(share('a', { a: 3 }, HOUR)).toBe(540);
    expect(share('b', { a: 3 }, HOUR)).toBe(180);
  });

  test('are shared among the scheduled resources; one without a schedule counts when it is ordered', () => {
    expect(share('a', { c: 0 }, HOUR)).toBe(450);
    expect(share('c', { c: 0 }, HOUR)).toBe(300);
  });

  test('are halved while a backfill is running', () => {
    expect(share('a', { a: 3 }, HOUR, 'backfill')).toBe(270);
  });
});
