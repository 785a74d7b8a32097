import fc from 'fast-check';
import { expect, test } from 'vitest';
import { delayQuantile } from '../../../src/engine/agenda/expected-delay.ts';
import { best, type Question } from '../../../src/engine/agenda/questions.ts';
import { type Asking, requestsForDelay, scoreOf } from '../../../src/engine/agenda/worth.ts';
import { seeded } from './seeded.ts';

const positive = (max: number) => fc.double({ min: 0.001, max, noNaN: true });
type Part = Pick<Asking, 'rate' | 'requests'>;

/** The least mean delay in hours that so many requests an hour allow. */
const expectedDelay = (parts: readonly Part[], requestsAnHour: number) => requestsForDelay(parts, 1) / requestsAnHour;

const anyPart: fc.Arbitrary<Part> = fc.record({ rate: positive(100), requests: fc.integer({ min: 1, max: 10 }) });
const anyAsking = fc.record({ rate: positive(100), age: positive(1000), requests: positive(20).map(each => each + 1) });
const anyWaiting = fc.option(fc.record({ changes: positive(20), hours: positive(500) }), { nil: undefined });
const anyOrder = fc.array(fc.record({ asking: anyAsking, waiting: anyWaiting }), { minLength: 2, maxLength: 20 });

/** Which of the scores are greatest, in order; near ties are no order. */
const orderOf = (scores: readonly number[]) =>
  scores.map(each => scores.map(other => Math.sign(Math.abs(each / other - 1) < 1e-9 ? 0 : each - other)));

test('the score grows with the rate and with the square of age, and falls with cost', () => {
  fc.assert(
    fc.property(anyAsking, given => {
      const score = scoreOf(given);
      expect(scoreOf({ ...given, rate: 3 * given.rate }) / score).toBeCloseTo(3);
      expect(scoreOf({ ...given, age: 3 * given.age }) / score).toBeCloseTo(9);
      expect(scoreOf({ ...given, requests: 3 * given.requests }) / score).toBeCloseTo(1 / 3);
    }),
  );
});

test('scores have no scale: all rates, all ages or all costs in another unit change no order', () => {
  fc.assert(
    fc.property(anyOrder, fc.double({ min: 1.5, max: 1000, noNaN: true }), (given, scale) => {
      const scores = (change: (asking: Asking) => Asking) => given.map(({ asking }) => scoreOf(change(asking)));
      const order = orderOf(scores(asking => asking));
      expect(orderOf(scores(asking => ({ ...asking, rate: asking.rate * scale })))).toEqual(order);
      expect(orderOf(scores(asking => ({ ...asking, age: asking.age * scale })))).toEqual(order);
      expect(orderOf(scores(asking => ({ ...asking, requests: asking.requests * scale })))).toEqual(order);
    }),
  );
});

test('changes that wait count in the same unit: minutes instead of hours, or all weights times a constant, change no order', () => {
  fc.assert(
    fc.property(anyOrder, fc.double({ min: 1.5, max: 1000, noNaN: true }), (given, scale) => {
      const askings = given.map(({ asking, waiting }): Asking => ({ ...asking, ...(waiting ? { waiting } : {}) }));
      const order = orderOf(askings.map(scoreOf));
      const inOtherUnit = askings.map(({ rate, age, requests, waiting }) =>
        scoreOf({
          rate: rate / scale,
          age: age * scale,
          requests,
          ...(waiting ? { waiting: { ...waiting, hours: waiting.hours * scale } } : {}),
        }),
      );
      expect(orderOf(inOtherUnit)).toEqual(order);
      expect(orderOf(askings.map(each => scale * scoreOf(each)))).toEqual(order);
    }),
  );
});

test('what is overdue goes first, the oldest of it, and otherwise the highest score', () => {
  const question = fc.record({ age: fc.nat({ max: 20 }), score: fc.nat({ max: 20 }), overdue: fc.boolean() });
  fc.assert(
    fc.property(fc.array(question, { maxLength: 12 }), given => {
      const first = best(given as unknown as Question[]);
      const overdue = given.filter(each => each.overdue);
      if (given.length === 0) expect(first).toBeNull();
      else if (overdue.length > 0) expect(first?.age).toBe(Math.max(...overdue.map(({ age }) => age)));
      else expect(first?.score).toBe(Math.max(...given.map(({ score }) => score)));
      if (overdue.length > 0) expect(first?.overdue).toBe(true);
    }),
  );
});

/** Reads the part with the greatest score, again and again: how often each was read, and the mean delay of changes in hours. */
function greedy(parts: readonly Part[], requestsAnHour: number, readings: number) {
  const readAt = parts.map(() => 0);
  const reads = parts.map(() => 0);
  let [now, delays, changes] = [0, 0, 0];
  // In the first readings, all parts are equally old.
  const settled = readings / 4;
  for (let turn = 0; turn < readings; turn++) {
    let [chosen, highest] = [0, Number.NEGATIVE_INFINITY];
    for (const [index, { rate, requests }] of parts.entries()) {
      const score = scoreOf({ rate, age: now - (readAt[index] as number), requests });
      if (score > highest) [chosen, highest] = [index, score];
    }
    const { rate, requests } = parts[chosen] as Part;
    const age = now - (readAt[chosen] as number);
    readAt[chosen] = now;
    now += requests / requestsAnHour;
    if (turn < settled) continue;
    reads[chosen] = (reads[chosen] as number) + 1;
    delays += (rate * age * age) / 2;
    changes += rate * age;
  }
  return { reads, meanDelay: delays / changes };
}

/** So many, with rates and costs so different, that no single one takes a large share of the requests and few are alike. */
function manyParts(seed: number): Part[] {
  const random = seeded(seed);
  return Array.from({ length: 100 }, () => ({ rate: 0.3 * 33 ** random(), requests: 1 + Math.floor(3 * random()) }));
}

test.each([1, 2, 3, 4])(
  'with known rates, slices are read in proportion to the square root of rate over cost (%i)',
  seed => {
    const parts = manyParts(seed);
    const { reads } = greedy(parts, 100, 50_000);
    const roots = parts.map(({ rate, requests }) => Math.sqrt(rate / requests));
    const [allReads, allRoots] = [reads, roots].map(each => each.reduce((sum, one) => sum + one, 0)) as [
      number,
      number,
    ];
    for (const [index, root] of roots.entries()) {
      const share = (reads[index] as number) / allReads;
      expect(Math.abs(share / (root / allRoots) - 1)).toBeLessThan(0.05);
    }
  },
);

test('with known rates, the mean delay is the least that the formula gives, within 5%', () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 10, max: 1000 }), (seed, requestsAnHour) => {
      const parts = manyParts(seed);
      const { meanDelay } = greedy(parts, requestsAnHour, 10_000);
      expect(Math.abs(meanDelay / expectedDelay(parts, requestsAnHour) - 1)).toBeLessThan(0.05);
    }),
    { numRuns: 10 },
  );
});

test('no other intervals that cost as many requests have a smaller mean delay than the formula gives', () => {
  const weighted = fc.array(fc.record({ part: anyPart, weight: positive(10) }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(weighted, positive(1000), (given, requestsAnHour) => {
      const weights = given.reduce((sum, { weight }) => sum + weight, 0);
      const rates = given.reduce((sum, { part }) => sum + part.rate, 0);
      const delays = given.reduce((sum, { part, weight }) => {
        const interval = part.requests / ((requestsAnHour * weight) / weights);
        return sum + (part.rate * interval) / 2;
      }, 0);
      const parts = given.map(({ part }) => part);
      expect(expectedDelay(parts, requestsAnHour)).toBeLessThanOrEqual((delays / rates) * (1 + 1e-9));
    }),
  );
});

test('the requests for a delay bring about that delay, and without changes there is none', () => {
  fc.assert(
    fc.property(fc.array(anyPart, { minLength: 1, maxLength: 20 }), positive(100), (parts, hours) => {
      expect(expectedDelay(parts, requestsForDelay(parts, hours)) / hours).toBeCloseTo(1);
    }),
  );
  expect(expectedDelay([], 100)).toBe(0);
  expect(requestsForDelay([{ rate: 0, requests: 3 }], 1)).toBe(0);
  expect(delayQuantile([], 0.95)).toBe(0);
});

test('the share of changes that arrive within a time is that of 20,000 simulated changes', () => {
  const parts = fc.array(fc.record({ rate: positive(100), interval: positive(100) }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(parts, fc.constantFrom(0.05, 0.5, 0.9, 0.95, 0.99), fc.nat(), (given, share, seed) => {
      const random = seeded(seed);
      const total = given.reduce((sum, { rate }) => sum + rate, 0);
      const hours = delayQuantile(given, share);
      const changes = 20_000;
      let arrived = 0;
      for (let change = 0; change < changes; change++) {
        let at = random() * total;
        const part = given.find(({ rate }) => {
          at -= rate;
          return at < 0;
        });
        if (random() * (part?.interval ?? 0) <= hours) arrived++;
      }
      expect(Math.abs(arrived / changes - share)).toBeLessThan(0.02);
    }),
    { numRuns: 50 },
  );
});

test('quantiles grow with the share, up to the longest interval', () => {
  const parts = [
    { rate: 9, interval: 1 },
    { rate: 1, interval: 100 },
  ];
  const quantiles = [0, 0.5, 0.9, 0.95, 1].map(share => delayQuantile(parts, share));
  expect(quantiles).toEqual(quantiles.toSorted((a, b) => a - b));
  expect(quantiles[0]).toBeCloseTo(0);
  expect(quantiles[1]).toBeCloseTo(0.5 / 0.901);
  expect(quantiles[4]).toBeCloseTo(100);
});
