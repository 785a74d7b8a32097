import { expect, test } from 'vitest';
import { ageTrend } from '../../../src/service/console/overview.ts';

test('the trend tells how old the oldest served tick was at each moment', () => {
  const HOUR = 3_600_000;
  const ticks = [
    { resource: 'a', at: 0, endedAt: HOUR / 2 },
    { resource: 'b', at: 0, endedAt: HOUR + 1 },
    { resource: 'a', at: 2 * HOUR, endedAt: 2 * HOUR + 1 },
    { resource: 'b', at: 2 * HOUR, endedAt: 3 * HOUR },
  ];
  expect(ageTrend(ticks, ['a', 'b'], { now: 4 * HOUR, hours: 4, points: 4 })).toEqual([null, 2 * HOUR, HOUR, 2 * HOUR]);
  expect(ageTrend([], [], { now: 0, hours: 1, points: 2 })).toEqual([null, null]);
});
