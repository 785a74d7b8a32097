import { createTask } from 'node-cron';
import { describe, expect, test } from 'vitest';
import { latestTick } from '../../src/engine/schedule.ts';
import { shareOf } from '../../src/engine/tasks.ts';

const task = (pattern: string) => createTask(pattern, () => undefined, { timezone: 'UTC' });
const at = (text: string) => Date.parse(text);

test('the newest missed tick is caught up, once, whatever was missed before it', () => {
  const quarterly = task('*/15 * * * *');
  const now = at('2026-01-15T10:44:30Z');
  expect(latestTick(quarterly, now, at('2026-01-15T08:00:00Z'))).toEqual(new Date('2026-01-15T10:30:00Z'));
  expect(latestTick(quarterly, now, at('2026-01-15T10:30:00Z'))).toBeNull();
});

test('a rare schedule is looked for over days', () => {
  expect(latestTick(task('0 3 1 * *'), at('2026-01-15T10:44:30Z'), at('2025-12-20T00:00:00Z'))).toEqual(
    new Date('2026-01-01T03:00:00Z'),
  );
});

test('the first start begins at once', () => {
  expect(latestTick(task('0 3 1 * *'), at('2026-01-15T10:44:30Z'), null)).toEqual(new Date('2026-01-15T10:44:00Z'));
});

test('a tick belongs to its zone, where the clock is set forward too', () => {
  const early = createTask('30 2 * * *', () => undefined, { timezone: 'Europe/Vienna' });
  expect(latestTick(early, at('2026-01-15T10:00:00Z'), at('2026-01-14T12:00:00Z'))).toEqual(
    new Date('2026-01-15T01:30:00Z'),
  );
  expect(latestTick(early, at('2026-07-15T10:00:00Z'), at('2026-07-14T12:00:00Z'))).toEqual(
    new Date('2026-07-15T00:30:00Z'),
  );
});

describe('what a resource may spend', () => {
  const HOUR = 3_600_000;
  const RESOURCES = ['a', 'b', 'c'].map(name => ({ name }));
  const share = (name: string, weights: Record<string, number>, elapsedMs: number | null, lane?: 'backfill') =>
    shareOf(
      {
        engine: { limit: 900, windowMs: HOUR, weights, resources: RESOURCES },
        tasks: lane ? [{ lane }] : [],
      },
      { name },
      elapsedMs === null ? null : 10 * HOUR - elapsedMs,
      10 * HOUR,
    );

  test('is what the limit refilled since its last slot, in equal parts', () => {
    expect(share('a', {}, HOUR / 4)).toBe(75);
    expect(share('a', {}, 8 * HOUR)).toBe(300);
    expect(share('a', {}, null)).toBe(300);
    expect(share('a', {}, 0)).toBe(1);
  });

  test('is more where it weighs more, and so less for the others', () => {
    expect(share('a', { a: 3 }, HOUR)).toBe(540);
    expect(share('b', { a: 3 }, HOUR)).toBe(180);
  });

  test('is shared by those that have a schedule; one without counts when it is ordered', () => {
    expect(share('a', { c: 0 }, HOUR)).toBe(450);
    expect(share('c', { c: 0 }, HOUR)).toBe(300);
  });

  test('is half while a backfill needs the rest', () => {
    expect(share('a', { a: 3 }, HOUR, 'backfill')).toBe(270);
  });
});
