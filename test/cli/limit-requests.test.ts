import { expect, test } from 'vitest';
import { createMemoryBudget } from '../../src/budget/memory-budget.ts';
import { limitRequests } from '../../src/cli/run/read-source.ts';
import { HOUR } from '../../src/clock.ts';
import { isKind } from '../../src/errors.ts';
import { manualClock } from '../support/manual-clock.ts';

const SETTLED = { purpose: 'test', status: 200 };
const open = () => createMemoryBudget({ clock: manualClock(), limit: 1000, windowMs: HOUR });

test('no more requests are granted than allowed, over all budgets, and the refusal waits for those in flight', async () => {
  const limited = limitRequests(3);
  const [one, other] = [limited(open()), limited(open())];
  const first = await one.take('live', 2);
  const second = await other.take('live', 5);
  expect([first.grants.length, second.grants.length]).toEqual([2, 1]);
  let refused: unknown;
  const fourth = one.take('live', 1).catch((error: unknown) => {
    refused = error;
  });
  for (const grant of first.grants) await one.settle(grant, SETTLED);
  expect(refused).toBe(undefined);
  for (const grant of second.grants) await other.settle(grant, SETTLED);
  await fourth;
  expect(isKind(refused, 'quota')).toBe(true);
});

test('a grant that comes back unused may be taken again', async () => {
  const budget = limitRequests(1)(open());
  const { grants } = await budget.take('live', 1);
  const next = budget.take('live', 1);
  await budget.release(grants);
  expect((await next).grants).toHaveLength(1);
});
