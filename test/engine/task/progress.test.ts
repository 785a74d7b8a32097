import { expect, test } from 'vitest';
import type { IdSlice } from '../../../src/engine/slices/slice.ts';
import { comparedSoFar, giveUp, newProgress, noteInterval, noteProven } from '../../../src/engine/task/progress.ts';

test('ids that a report compares once more are no progress, so that their slice is given up in the end', () => {
  const progress = newProgress();
  const ids = (from: bigint, to: bigint): IdSlice => ({ by: 'id', from, to });
  const compared = [ids(15n, 27n), ids(28n, 40n), ids(20n, 35n), ids(15n, 27n), ids(40n, 41n)].map(interval => {
    noteInterval(progress, interval);
    return comparedSoFar(progress);
  });
  expect(compared).toEqual([1, 2, 2, 2, 3]);
});

test('a slice that was given up and is proven later in the same task is in doubt no more', () => {
  const progress = newProgress();
  const days = ['date 2025-12-10..2025-12-10', 'date 2025-12-11..2025-12-11'];
  for (const day of days) giveUp(progress, day);
  noteProven(progress, days.slice(0, 1));
  expect([...progress.tries.keys()]).toEqual(days.slice(1));
});
