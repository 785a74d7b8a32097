import { expect, test } from 'vitest';
import { expectedDelays } from '../../../src/engine/agenda/expected-delay.ts';
import { MOST_FOR_TARGETS, weighTargets } from '../../../src/engine/agenda/target-weights.ts';
import { scoreOf } from '../../../src/engine/agenda/worth.ts';

const part = (rate: number, requests: number) => ({ rate, requests, age: 0 });
const INVOICES = Array.from({ length: 20 }, (_, place) => part(5 / (place + 1), 2));
const OTHERS = Array.from({ length: 60 }, (_, place) => part(1 / (place + 1), 1 + (place % 3)));
const lists = (target: number | null) => [
  { name: 'invoices', parts: INVOICES, weight: 1, target },
  { name: 'others', parts: OTHERS, weight: 4, target: null },
];

test('without targets there is nothing to weigh', () => {
  expect(weighTargets(lists(null), 1000)).toEqual({ weights: new Map(), needs: [] });
});

test.each([0.05, 0.02, 0.2])('a list meets a target of %s hours, and the others share the rest', target => {
  const { weights, needs } = weighTargets(lists(target), 1000);
  expect(needs).toMatchObject([{ name: 'invoices', target, reachable: target }]);
  const weighed = lists(target).map(each => ({ ...each, weight: weights.get(each.name) ?? each.weight }));
  const delays = expectedDelays(weighed, 1000, 1e9);
  expect(delays.get('invoices')?.mean).toBeCloseTo(target, 9);
  // What the others are left with, spent by themselves.
  const alone = expectedDelays(
    [{ name: 'others', parts: OTHERS, weight: 1 }],
    1000 - (needs[0]?.requestsAnHour ?? 0),
    1e9,
  );
  expect(delays.get('others')?.mean).toBeCloseTo(alone.get('others')?.mean as number, 9);
});

test('asking for the best score meets the target, too', () => {
  const target = 0.05;
  const { weights } = weighTargets(lists(target), 1000);
  const asked = lists(target).flatMap(({ name, parts, weight }) =>
    parts.map(each => ({ ...each, name, weight: weights.get(name) ?? weight, at: 0, waited: 0 })),
  );
  const hours = 4;
  let now = 0;
  let isCounted = false;
  while (now < 2 * hours) {
    if (!isCounted && now >= hours) {
      isCounted = true;
      for (const each of asked) each.at = now;
    }
    const score = (each: (typeof asked)[number]) =>
      each.weight * scoreOf({ rate: each.rate, requests: each.requests, age: now - each.at });
    const best = asked.reduce((first, each) => (score(each) > score(first) ? each : first));
    // All changes since the last reading waited for half of the time.
    best.waited += (best.rate * (now - best.at) ** 2) / 2;
    if (!isCounted) best.waited = 0;
    best.at = now;
    now += best.requests / 1000;
  }
  const invoices = asked.filter(({ name }) => name === 'invoices');
  const rate = invoices.reduce((sum, each) => sum + each.rate, 0);
  const mean = invoices.reduce((sum, each) => sum + each.waited, 0) / (rate * hours);
  expect(mean / target).toBeGreaterThan(0.9);
  expect(mean / target).toBeLessThan(1.1);
});

test('targets that need more than the limit allows are scaled down together, and say what is reachable', () => {
  const both = [
    { name: 'invoices', parts: INVOICES, weight: 1, target: 0.001 },
    { name: 'others', parts: OTHERS, weight: 1, target: 0.002 },
    { name: 'tickets', parts: [part(1, 1)], weight: 1, target: null },
  ];
  const { weights, needs } = weighTargets(both, 1000);
  const needed = needs.reduce((sum, each) => sum + each.requestsAnHour, 0);
  expect(needed).toBeGreaterThan(1000);
  for (const each of needs) expect(each.reachable / each.target).toBeCloseTo(needed / 1000 / MOST_FOR_TARGETS, 9);
  const weighed = both.map(each => ({ ...each, weight: weights.get(each.name) ?? each.weight }));
  const delays = expectedDelays(weighed, 1000, 1e9);
  for (const each of needs) expect(delays.get(each.name)?.mean).toBeCloseTo(each.reachable, 9);
  expect(delays.get('tickets')?.mean).toBeCloseTo(1 / 2 / 100, 9);
});

test('where every list has a target, what is left over goes to all of them in proportion', () => {
  const all = lists(0.05).map(each => ({ ...each, target: 0.05 }));
  const { weights, needs } = weighTargets(all, 1_000_000);
  const delays = expectedDelays(
    all.map(each => ({ ...each, weight: weights.get(each.name) as number })),
    1_000_000,
    1e9,
  );
  const needed = needs.reduce((sum, each) => sum + each.requestsAnHour, 0);
  for (const { mean } of delays.values()) expect(mean).toBeCloseTo((0.05 * needed) / 1_000_000, 9);
});

test('a list that was not read yet needs nothing, and one off the agenda gets nothing', () => {
  const unread = { name: 'a', parts: [], weight: 1, target: 0.1 };
  const off = { name: 'b', parts: OTHERS, weight: 0, target: 0.1 };
  expect(weighTargets([unread, off], 1000)).toEqual({ weights: new Map(), needs: [] });
});
