import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../../src/clock.ts';
import { type PaceRule, refill, spend, startPace, waitFor } from '../../../src/engine/agenda/pace.ts';

const NOW = Date.parse('2026-01-15T10:00:00Z');

const anyRule: fc.Arbitrary<PaceRule> = fc
  .record({ hourly: fc.integer({ min: 10, max: 20_000 }), keptMinutes: fc.integer({ min: 1, max: 10 }) })
  .map(({ hourly, keptMinutes }) => ({
    rate: hourly / HOUR,
    most: Math.max((hourly / HOUR) * keptMinutes * MINUTE, 4),
  }));

/** Milliseconds between two looks at the pace, and what each request that it allows takes. */
const anyLooks = fc.array(
  fc.record({ laterMs: fc.integer({ min: 0, max: 20 * MINUTE }), requests: fc.integer({ min: 1, max: 10 }) }),
  { minLength: 1, maxLength: 200 },
);

interface Spent {
  readonly at: number;
  readonly requests: number;
}

/** Spends at each look as much as the pace allows. */
function spendAll(rule: PaceRule, looks: readonly { laterMs: number; requests: number }[]): Spent[] {
  const spent: Spent[] = [];
  let pace = startPace(NOW);
  let now = NOW;
  for (const { laterMs, requests } of looks) {
    now += laterMs;
    for (pace = refill(pace, now, rule); waitFor(pace, rule) === 0; pace = spend(pace, requests))
      spent.push({ at: now, requests });
  }
  return spent;
}

test('no window of time holds more requests than its share of the rate and what may be saved', () => {
  fc.assert(
    fc.property(anyRule, anyLooks, (rule, looks) => {
      const spent = spendAll(rule, looks);
      // What is begun with one request saved may take more: the next one waits for the rest.
      const beyond = Math.max(...spent.map(({ requests }) => requests), 1) - 1;
      const moments = [...new Set(spent.map(({ at }) => at))];
      const total = moments.map(at => spent.reduce((sum, each) => sum + (each.at === at ? each.requests : 0), 0));
      for (const [first, from] of moments.entries()) {
        let sum = 0;
        for (let last = first; last < moments.length; last++) {
          sum += total[last] as number;
          const allowed = rule.rate * ((moments[last] as number) - from) + rule.most + beyond;
          expect(sum).toBeLessThanOrEqual(allowed + 1e-6);
        }
      }
    }),
    { numRuns: 100 },
  );
});

test('99% of the rate is spent if there is always a question, however long its answers take within what is saved', () => {
  fc.assert(
    fc.property(anyRule, fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 20 }), (rule, shares) => {
      // Before the next look, an answer of up to ten requests may have to be paid for.
      const longestMs = (rule.most - 1) / rule.rate;
      const looks = Array.from({ length: 1000 }, (_, index) => {
        const share = shares[index % shares.length] as number;
        return { laterMs: Math.floor(share * longestMs), requests: 1 + Math.floor(share * 9.99) };
      });
      const hours = looks.reduce((sum, { laterMs }) => sum + laterMs, 0);
      const requests = spendAll(rule, looks).reduce((sum, each) => sum + each.requests, 0);
      // A request of which a part is saved at the end is not spent yet.
      expect(requests).toBeGreaterThanOrEqual(Math.floor(0.99 * rule.rate * hours) - 1);
    }),
    { numRuns: 100 },
  );
});

test('one who waits as long as told sends evenly: an hour at 1,000 requests an hour has 1,000, and each minute 16 or 17', () => {
  const rule = { rate: 1000 / HOUR, most: 34 };
  const sent: number[] = [];
  let pace = startPace(NOW);
  for (let now = NOW; now < NOW + HOUR; now += Math.max(waitFor(pace, rule), 0)) {
    pace = refill(pace, now, rule);
    if (waitFor(pace, rule) > 0) continue;
    sent.push(now);
    pace = spend(pace, 1);
  }
  expect(sent.length).toBeGreaterThanOrEqual(990);
  expect(sent.length).toBeLessThanOrEqual(1000);
  for (let minute = 0; minute < 60; minute++) {
    const from = NOW + minute * MINUTE;
    const inMinute = sent.filter(at => at >= from && at < from + MINUTE).length;
    expect([16, 17]).toContain(inMinute);
  }
});

test('after the wait a request may be sent, and not a millisecond earlier', () => {
  fc.assert(
    fc.property(anyRule, fc.double({ min: -20, max: 4, noNaN: true }), (rule, saved) => {
      const pace = { saved, at: NOW };
      const wait = waitFor(pace, rule);
      // Rounding may take one more millisecond.
      expect(waitFor(refill(pace, NOW + wait, rule), rule)).toBeLessThanOrEqual(1);
      if (wait > 1) expect(waitFor(refill(pace, NOW + wait - 2, rule), rule)).toBeGreaterThan(0);
      if (saved >= 1) expect(wait).toBe(0);
    }),
  );
});

test('a clock that was put back adds nothing, and costs nothing that was saved', () => {
  fc.assert(
    fc.property(anyRule, fc.integer({ min: -10, max: 4 }), fc.nat({ max: 100 * HOUR }), (rule, saved, ms) => {
      expect(refill({ saved, at: NOW }, NOW - ms, rule)).toEqual({ saved, at: NOW - ms });
    }),
  );
});

test('what was saved is bounded, however long nothing was asked', () => {
  fc.assert(
    fc.property(anyRule, fc.integer({ min: 1, max: 10_000 * HOUR }), (rule, ms) => {
      expect(refill(startPace(NOW), NOW + ms, rule).saved).toBeLessThanOrEqual(rule.most);
    }),
  );
});

test('an estimate that was too high is given back, and one that was too low is paid for before the next request', () => {
  const rule = { rate: 1 / MINUTE, most: 10 };
  const begun = spend(refill(startPace(NOW), NOW + 5 * MINUTE, rule), 8);
  expect(waitFor(begun, rule)).toBe(4 * MINUTE);
  expect(waitFor(spend(begun, 2 - 8), rule)).toBe(0);
  expect(waitFor(spend(begun, 10 - 8), rule)).toBe(6 * MINUTE);
});

test('without a rate, nothing is sent until requests are granted', () => {
  const rule = { rate: 0, most: 100 };
  expect(waitFor(refill(startPace(NOW), NOW + 100 * HOUR, rule), rule)).toBe(Number.POSITIVE_INFINITY);
  const granted = refill(spend(startPace(NOW), -3), NOW + MINUTE, rule);
  expect(waitFor(granted, rule)).toBe(0);
  expect(waitFor(spend(granted, 3), rule)).toBe(Number.POSITIVE_INFINITY);
});
