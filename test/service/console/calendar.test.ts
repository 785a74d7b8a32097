import { expect, test } from 'vitest';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';
import { parseSlice } from '../../../src/engine/slices/slice.ts';
import { calendarOf } from '../../../src/service/console/calendar.ts';

const proven = (slice: string, provenAt: number | null) => ({ slice: parseSlice(slice), provenAt }) as Entry;

test('a month is proven as of the oldest proof of the slices that hold a part of it', () => {
  const calendar = calendarOf(
    [
      proven('date ..2025-12-31', 5),
      proven('date 2026-01-01..2026-01-15', 40),
      proven('date 2026-01-16..2026-02-28', 30),
      proven('date 2026-03-01..', null),
      proven('newest', 99),
    ],
    '2026-03-20',
  );
  expect(calendar).toEqual({
    years: [
      { year: 2026, months: [30, 30, 'never', ...Array<string>(9).fill('future')] },
      { year: 2025, months: Array<number>(12).fill(5) },
    ],
    earlier: 5,
  });
});

test('a list that is not read by date has no calendar; one read as a whole has this year and what precedes it', () => {
  expect(calendarOf([proven('id ..', 1)], '2026-03-20')).toBeNull();
  expect(calendarOf([proven('date ..', 7)], '2026-01-20')).toEqual({
    years: [{ year: 2026, months: [7, ...Array<string>(11).fill('future')] }],
    earlier: 7,
  });
});

test('a gap between slices was never read', () => {
  const months = calendarOf([proven('date 2026-01-01..2026-01-31', 1)], '2026-02-20')?.years[0]?.months;
  expect(months?.slice(0, 3)).toEqual([1, 'never', 'future']);
});
