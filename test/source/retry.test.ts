import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HOUR, MINUTE, SECOND } from '../../src/clock.ts';
import { BASE_MS, BLOCKED, FAILURES, type RetryLaw, retryDelayMs } from '../../src/source/requests/retry.ts';

it('the wait doubles from one second up to the cap, and jitter subtracts at most half', () => {
  const most = [1, 2, 3, 7, 8, 99].map(failures => retryDelayMs(FAILURES, failures, () => 1));
  expect(most).toEqual([1, 2, 4, 60, 60, 60].map(seconds => seconds * SECOND));
  expect(retryDelayMs(FAILURES, 3, () => 0)).toBe(2 * SECOND);
});

it('the wait is never shorter than the server asks, and never longer than both the cap and the server ask', () => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1000 }),
      random,
      fc.integer({ min: 0, max: HOUR }),
      (failures, jitter, serverMs) => {
        const ms = retryDelayMs(FAILURES, failures, () => jitter, serverMs);
        expect(ms).toBeGreaterThanOrEqual(Math.max(serverMs, BASE_MS / 2));
        expect(ms).toBeLessThanOrEqual(Math.max(serverMs, FAILURES.capMs));
      },
    ),
  );
});

it('the waits after 429 exceed an hourly window even with the smallest jitter', () => {
  expect(inAll(BLOCKED, () => 0)).toBeGreaterThan(HOUR + 5 * MINUTE);
});

it('the total waits are as long as the comments on the laws say', () => {
  expect([inAll(FAILURES, () => 0), inAll(FAILURES, () => 1)]).toEqual([15.5 * SECOND, 31 * SECOND]);
  // Ten or eleven waits that double, then ten minutes each.
  expect(inAll(BLOCKED, () => 0)).toBe((1023.5 + 12 * 600) * SECOND);
  expect(inAll(BLOCKED, () => 1)).toBe((1023 + 13 * 600) * SECOND);
});

function inAll(law: RetryLaw, random: () => number): number {
  let sum = 0;
  for (let failures = 1; failures < law.attempts; failures++) sum += retryDelayMs(law, failures, random);
  return sum;
}
