import { expect, test } from 'vitest';
import { newProgress, noteMiscount, steadyMiscount } from '../../../src/engine/task/progress.ts';

function steadyAfter(...counts: [slice: string, by: number][]) {
  const progress = newProgress();
  for (const [slice, by] of counts) noteMiscount(progress, slice, by);
  return steadyMiscount(progress);
}

test('a count is steadily wrong once it was off by the same number three times', () => {
  expect(steadyAfter(['id 1..5', 14], ['id 1..5', 14])).toBeNull();
  expect(steadyAfter(['id 1..5', 14], ['id 1..5', 14], ['id 1..5', 14])).toEqual({ slice: 'id 1..5', by: 14 });
});

test('readings that try two addresses find two numbers in turn', () => {
  const reading: [string, number][] = [
    ['id 1..5', 14],
    ['id 1..5', 12],
  ];
  expect(steadyAfter(...reading, ...reading, ...reading)).toEqual({ slice: 'id 1..5', by: 14 });
});

test('a number that differs each time, or that other slices found, shows nothing', () => {
  expect(steadyAfter(['id 1..5', 14], ['id 1..5', 13], ['id 1..5', 15])).toBeNull();
  expect(steadyAfter(['id 1..5', 14], ['id 6..8', 14], ['id 9..', 14])).toBeNull();
});
