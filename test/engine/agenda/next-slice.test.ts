import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY, HOUR } from '../../../src/clock.ts';
import { changeRate, pooledPrior } from '../../../src/engine/agenda/change-rates.ts';
import { nextSlice } from '../../../src/engine/agenda/next-slice.ts';
import { scoreOf } from '../../../src/engine/agenda/worth.ts';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';
import { parseSlice } from '../../../src/engine/slices/slice.ts';
import { anEntry } from './an-entry.ts';

const NOW = Date.parse('2026-01-15T10:00:00Z');

/** The day that lies so many days back, as a slice. */
function dayBack(days: number): Entry['slice'] {
  const day = new Date(NOW - days * DAY).toISOString().slice(0, 10);
  return { by: 'date', from: day, to: day };
}

const someEntries = fc
  .array(
    fc.record({
      provenAt: fc.option(fc.integer({ min: NOW - 1000 * HOUR, max: NOW }), { freq: 2 }),
      requests: fc.integer({ min: 1, max: 10 }),
      changed: fc.double({ min: 0, max: 500, noNaN: true }),
      hoursWatched: fc.double({ min: 0, max: 5000, noNaN: true }),
    }),
    { minLength: 1, maxLength: 20 },
  )
  .map(given => given.map((each, index) => anEntry({ ...each, slice: dayBack(index) })));

/** The slices in the order in which they are read. */
function orderOf(entries: readonly Entry[]): Entry[] {
  const prior = pooledPrior(entries, NOW);
  const left = [...entries];
  const order: Entry[] = [];
  for (let next = nextSlice(left, prior, NOW); next; next = nextSlice(left, prior, NOW)) {
    order.push(next);
    left.splice(left.indexOf(next), 1);
  }
  return order;
}

test('slices that were never read come first, the newest first, and then the highest score', () => {
  fc.assert(
    fc.property(someEntries, entries => {
      const order = orderOf(entries);
      const unread = entries.filter(each => each.provenAt === null);
      expect(order.slice(0, unread.length)).toEqual(unread);
      const prior = pooledPrior(entries, NOW);
      const scores = order.slice(unread.length).map(entry => {
        const age = (NOW - (entry.provenAt as number)) / HOUR;
        return scoreOf({ rate: changeRate(entry, prior), age, requests: entry.requests });
      });
      expect(scores).toEqual(scores.toSorted((a, b) => b - a));
      expect(order).toHaveLength(entries.length);
    }),
  );
});

test('the newest of what was never read is the window or the range that is open to the future', () => {
  const newestFirst = (texts: readonly string[]) =>
    orderOf(texts.map(text => anEntry({ slice: parseSlice(text), provenAt: null }))).map(({ slice }) => slice);
  const windows = ['date 2025-01-01..', 'date 2024-01-01..2024-12-31', 'date ..2023-12-31'];
  const ranges = ['id 301..', 'id 100..300', 'id ..99'];
  for (const texts of [windows, ranges]) expect(newestFirst(texts.toReversed())).toEqual(texts.map(parseSlice));
});

test('of slices that were read at the same time, the one where more changes comes first, and the expensive one last', () => {
  const watched = { provenAt: NOW - 10 * HOUR, hoursWatched: 1000 };
  const [calm, busy, dear] = [
    anEntry({ ...watched, slice: dayBack(40), changed: 10 }),
    anEntry({ ...watched, slice: dayBack(41), changed: 100 }),
    anEntry({ ...watched, slice: dayBack(42), changed: 10, requests: 10 }),
  ];
  expect(orderOf([calm, dear, busy])).toEqual([busy, calm, dear]);
});

test('no slice is chosen if none is due', () => {
  expect(nextSlice([], () => 0, NOW)).toBeUndefined();
});
