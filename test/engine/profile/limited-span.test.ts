import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  mayBeLeftOut,
  observeDaysShown,
  observeLeftOut,
  withDays,
  withShown,
} from '../../../src/engine/profile/limited-span.ts';
import { UNKNOWN, withObservation } from '../../../src/engine/profile/source-profile.ts';
import { addDays, type Day } from '../../../src/engine/slices/date-windows.ts';
import type { DateSlice } from '../../../src/engine/slices/slice.ts';

const FIRST: Day = '2020-01-01';
const day = fc.integer({ min: 0, max: 1500 }).map(days => addDays(FIRST, days));
const window = fc
  .tuple(fc.option(day), fc.option(day))
  .filter(([a, b]) => a !== null || b !== null)
  .map(([a, b]) => (a !== null && b !== null && a > b ? { from: b, to: a } : { from: a, to: b }));
const limit = fc.record({ days: fc.integer({ min: 1, max: 800 }), from: fc.constantFrom('first', 'last') });

/** What a source shows that selects so many days at most. */
function show(
  { from, to }: Pick<DateSlice, 'from' | 'to'>,
  rows: readonly Day[],
  { days, from: end }: { days: number; from: string },
): Day[] {
  const last = end === 'first' && from !== null ? addDays(from, days - 1) : null;
  const first = end === 'last' && to !== null ? addDays(to, 1 - days) : null;
  return rows.filter(
    each =>
      (from === null || each >= from) &&
      (to === null || each <= to) &&
      (last === null || each <= last) &&
      (first === null || each >= first),
  );
}

test('whatever a limited filter shows, none of the rows that it leaves out is believed to be gone', () => {
  fc.assert(
    fc.property(
      fc.array(window, { minLength: 1, maxLength: 8 }),
      fc.array(day, { maxLength: 30 }),
      limit,
      (asked, rows, most) => {
        let profile = UNKNOWN;
        for (const each of asked) {
          const shown = show(each, rows, most);
          const span = withDays(null, shown);
          const left = show(each, rows, { days: 10_000, from: 'first' }).filter(row => !shown.includes(row));
          for (const row of left) expect(mayBeLeftOut(each, row, span, profile)).toBe(true);
          for (const observed of observeDaysShown(profile, each, span)) profile = withObservation(profile, observed);
        }
      },
    ),
    { numRuns: 1000 },
  );
});

test('a row between others, and one no farther from the bounds than rows that were shown, has left the window', () => {
  const year = { from: '2024-01-01', to: '2024-12-31' };
  const shown = { first: '2024-02-01', last: '2024-06-01' };
  expect(mayBeLeftOut(year, '2024-03-01', shown, UNKNOWN)).toBe(false);
  expect(mayBeLeftOut(year, '2024-06-02', shown, UNKNOWN)).toBe(true);
  const known = observeDaysShown(UNKNOWN, year, { first: '2024-01-05', last: '2024-12-20' }).reduce(
    withObservation,
    UNKNOWN,
  );
  expect(mayBeLeftOut(year, '2024-06-02', shown, known)).toBe(false);
  expect(mayBeLeftOut({ from: '2024-06-02', to: '2024-06-02' }, '2024-06-02', null, UNKNOWN)).toBe(false);
});

test('a filter is given up once two windows left out rows that shorter ones show', () => {
  const window = (from: Day, to: Day): DateSlice => ({ by: 'date', from, to });
  const leftOut = (from: Day, to: Day, keys: string[], uncounted: number | null = null) => ({
    window: window(from, to),
    uncounted,
    keys: new Set(keys),
    shown: new Set<string>(),
  });
  const known = [leftOut('2024-01-01', '2024-12-31', ['1', '2', '3']), leftOut('2023-01-01', '2023-12-31', ['4', '5'])];
  const one = withShown(known, window('2024-10-01', '2024-12-31'), ['1', '2', '3', '9']);
  expect(observeLeftOut(one)).toEqual([]);
  expect(withShown(one, window('2022-01-01', '2023-12-31'), ['4', '5'])).toEqual(one);
  expect(observeLeftOut(withShown(one, window('2023-10-01', '2023-12-31'), ['4', '5']))).toMatchObject([
    { trait: 'date filter', value: 'ignored' },
  ]);
  // A row that two windows left out is one.
  const nested = [known[0], leftOut('2024-07-01', '2024-12-31', ['1', '2', '3'])] as typeof known;
  expect(observeLeftOut(withShown(nested, window('2024-12-01', '2024-12-31'), ['1', '2', '3']))).toEqual([]);
  // Windows that are equally long without a count may be cut off by a cap.
  const cut = [
    leftOut('2024-01-01', '2024-12-31', ['1', '2', '3'], 100),
    leftOut('2023-01-01', '2023-12-31', ['4', '5'], 100),
  ];
  const shown = withShown(
    withShown(cut, window('2024-10-01', '2024-12-31'), ['1', '2', '3']),
    window('2023-10-01', '2023-12-31'),
    ['4', '5'],
  );
  expect(observeLeftOut(shown)).toEqual([]);
});
