import { expect, test } from 'vitest';
import { delayQuantile, expectedDelays, readingIntervals } from '../../../src/engine/agenda/expected-delay.ts';
import { requestsForDelay } from '../../../src/engine/agenda/worth.ts';

const part = (rate: number, requests: number, age = 0) => ({ rate, requests, age });

test('equal parts are read in turn: a change waits half a turn on average, and almost a whole one at most', () => {
  const parts = Array.from({ length: 10 }, () => part(2, 1));
  const delay = expectedDelays([{ name: 'a', parts, weight: 1 }], 100, 1000).get('a');
  expect(delay?.mean).toBeCloseTo(0.05, 10);
  expect(delay?.within95).toBeCloseTo(0.095, 10);
});

test('intervals follow the square root of cost over rate, and spend exactly what there is', () => {
  const parts = [
    { rate: 4, requests: 1, weight: 1 },
    { rate: 1, requests: 1, weight: 1 },
    { rate: 1, requests: 9, weight: 1 },
    { rate: 1, requests: 9, weight: 9 },
  ];
  const [first, ...others] = readingIntervals(parts, 60, 1e9) as [number, ...number[]];
  expect(others.map(each => each / first)).toEqual([2, 6, 2].map(each => expect.closeTo(each, 9) as number));
  const spent = parts.reduce((sum, { requests }, index) => sum + requests / ([first, ...others][index] as number), 0);
  expect(spent).toBeCloseTo(60, 9);
});

test('no part is left for longer than the bound, and the others get what is left', () => {
  const parts = [
    { rate: 100, requests: 1, weight: 1 },
    { rate: 0.0001, requests: 20, weight: 1 },
  ];
  const [often, seldom] = readingIntervals(parts, 10, 4) as [number, number];
  expect(seldom).toBe(4);
  expect(often).toBeCloseTo(1 / (10 - 20 / 4), 9);
});

test('a part that has waited for longer than planned counts with its age', () => {
  const delay = (age: number) =>
    expectedDelays([{ name: 'a', parts: [part(1, 1, age)], weight: 1 }], 10, 1000).get('a')?.mean;
  expect(delay(0)).toBeCloseTo(0.05, 10);
  expect(delay(0.09)).toBeCloseTo(0.05, 10);
  expect(delay(6)).toBeCloseTo(3, 10);
});

test('a list that was not read in full yet has no delay, and takes nothing from the others', () => {
  const known = { name: 'a', parts: [part(1, 1)], weight: 1 };
  expect([...expectedDelays([known, { name: 'b', parts: [], weight: 1 }], 10, 1000)]).toEqual([
    ...expectedDelays([known], 10, 1000),
  ]);
});

test('the mean delay of the best spending is what its requests were worked out for', () => {
  const parts = [part(3, 1), part(0.2, 7), part(11, 2)];
  const requests = requestsForDelay(parts, 0.3);
  expect(expectedDelays([{ name: 'a', parts, weight: 1 }], requests, 1e9).get('a')?.mean).toBeCloseTo(0.3, 9);
});

test('a quantile lies between the intervals of parts that are read often and seldom', () => {
  const parts = [
    { rate: 9, interval: 1 },
    { rate: 1, interval: 10 },
  ];
  expect(delayQuantile(parts, 0.5)).toBeCloseTo(0.5 / 0.91, 6);
  expect(delayQuantile(parts, 0.95)).toBeCloseTo(5, 6);
  expect(delayQuantile([], 0.95)).toBe(0);
});
