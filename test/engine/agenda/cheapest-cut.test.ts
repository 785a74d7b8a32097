import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  cheapestCut,
  type DayRows,
  MOST_PAGES_OF_WINDOW,
  pagesFor,
  rootOf,
} from '../../../src/engine/agenda/cheapest-cut.ts';

const someDays = (most: number): fc.Arbitrary<DayRows[]> =>
  fc.array(fc.record({ rows: fc.nat(700), rate: fc.double({ min: 1e-6, max: 5, noNaN: true }) }), {
    minLength: 1,
    maxLength: most,
  });

const sum = (values: readonly number[]) => values.reduce((all, each) => all + each, 0);
const groupsOf = (days: readonly DayRows[], starts: readonly number[]) =>
  starts.map((start, index) => days.slice(start, starts[index + 1]));
const pages = (group: readonly DayRows[]) => pagesFor(sum(group.map(({ rows }) => rows)), 100);
const need = (group: readonly DayRows[]) => rootOf(sum(group.map(({ rate }) => rate)), pages(group));

/** Every way to cut the days after the first. */
function* allCuts(length: number): Generator<number[]> {
  for (let bits = 0; bits < 2 ** (length - 1); bits++)
    yield [
      0,
      ...Array.from({ length: length - 1 }, (_, index) => index + 1).filter(index => bits & (1 << (index - 1))),
    ];
}

test('in 300 generated cases, no other cut needs less', () => {
  fc.assert(
    fc.property(someDays(9), days => {
      const least = sum(groupsOf(days, cheapestCut(days, 100)).map(need));
      for (const starts of allCuts(days.length)) {
        const groups = groupsOf(days, starts);
        if (groups.some(group => group.length > 1 && pages(group) > MOST_PAGES_OF_WINDOW)) continue;
        expect(least).toBeLessThanOrEqual(sum(groups.map(need)) + 1e-9);
      }
    }),
    { numRuns: 300 },
  );
});

test('groups follow each other from the first day on, and hold no more than a window may, unless it is one day', () => {
  fc.assert(
    fc.property(someDays(200), days => {
      const starts = cheapestCut(days, 100);
      expect(starts[0]).toBe(0);
      expect(starts).toEqual([...new Set(starts)].sort((a, b) => a - b));
      for (const group of groupsOf(days, starts))
        expect(group.length === 1 || pages(group) <= MOST_PAGES_OF_WINDOW).toBe(true);
    }),
  );
});
