import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addDays,
  dayIn,
  holds,
  lengthInDays,
  splitWindow,
  wholeTime,
  within,
} from '../../../src/engine/slices/date-windows.ts';
import type { DateSlice } from '../../../src/engine/slices/slice.ts';

const days = (from: string, to: string) =>
  fc
    .integer({ min: Date.parse(from) / 86_400_000, max: Date.parse(to) / 86_400_000 })
    .map(day => new Date(day * 86_400_000).toISOString().slice(0, 10));
const anyDay = fc.oneof({ weight: 9, arbitrary: days('1970-01-01', '2060-12-31') }, days('0001-01-01', '9999-12-31'));
const today = days('2015-01-01', '2040-12-31');
const anyWindow = fc
  .tuple(fc.option(anyDay), fc.option(anyDay))
  .map(([a, b]): DateSlice => ({ by: 'date', from: a && b && a > b ? b : a, to: a && b && a > b ? a : b }));

test('the parts of a window cover it exactly, without gap or overlap', () => {
  fc.assert(
    fc.property(anyWindow, today, (window, now) => {
      const parts = splitWindow(window, now);
      if (parts === null) return;
      expect(parts.length).toBeGreaterThan(1);
      expect(parts[0]?.from).toBe(window.from);
      expect(parts.at(-1)?.to).toBe(window.to);
      const sound = parts.every((part, index) => {
        const next = parts[index + 1];
        const ordered = part.from === null || part.to === null || part.from <= part.to;
        return ordered && (!next || (part.to !== null && next.from === addDays(part.to, 1)));
      });
      expect(sound).toBe(true);
    }),
    { numRuns: 200 },
  );
});

test('only windows that dates cannot split are not split: a single day, year 1 and earlier, the last day and later', () => {
  fc.assert(
    fc.property(anyWindow, today, (window, now) => {
      const { from, to } = window;
      const uncuttable = from === null ? to !== null && to < '0002' : to === null ? from === '9999-12-31' : from === to;
      expect(splitWindow(window, now) === null).toBe(uncuttable);
    }),
    { numRuns: 500 },
  );
});

/** Splits the part that holds the day until it cannot be split further. */
function descend(day: string, now: string): { window: DateSlice; steps: number } {
  let window = wholeTime;
  for (let steps = 0; ; steps++) {
    const parts = splitWindow(window, now);
    if (parts === null) return { window, steps };
    const holding = parts.filter(part => holds(part, day));
    expect(holding).toHaveLength(1);
    window = holding[0] as DateSlice;
  }
}

test('splitting ends at a single day', () => {
  fc.assert(
    fc.property(days('1990-01-01', '2099-12-31'), today, (day, now) => {
      const { window, steps } = descend(day, now);
      expect(window).toEqual({ by: 'date', from: day, to: day });
      expect(steps).toBeLessThan(60);
    }),
  );
});

test('rows dated 9999-12-31 are reached in a few dozen steps', () => {
  const { window, steps } = descend('9999-12-31', '2026-01-15');
  expect(window).toEqual({ by: 'date', from: '9999-12-31', to: null });
  expect(steps).toBeLessThan(60);
});

test('rows dated in year 1 are reached too', () => {
  const { window } = descend('0001-01-01', '2026-01-15');
  expect(window).toEqual({ by: 'date', from: null, to: '0001-12-31' });
});

test('windows are calendar years, months and days', () => {
  expect(splitWindow(wholeTime, '2026-03-10')).toEqual([
    { by: 'date', from: null, to: '2025-12-31' },
    { by: 'date', from: '2026-01-01', to: null },
  ]);
  expect(splitWindow({ by: 'date', from: '2024-01-01', to: '2024-12-31' }, '2026-03-10')?.[1]).toEqual({
    by: 'date',
    from: '2024-02-01',
    to: '2024-02-29',
  });
  expect(splitWindow({ by: 'date', from: '2024-02-01', to: '2024-02-29' }, '2026-03-10')).toHaveLength(29);
  expect(splitWindow({ by: 'date', from: '2026-01-01', to: null }, '2026-03-10')).toEqual([
    { by: 'date', from: '2026-01-01', to: '2026-01-31' },
    { by: 'date', from: '2026-02-01', to: '2026-02-28' },
    { by: 'date', from: '2026-03-01', to: null },
  ]);
  expect(splitWindow({ by: 'date', from: '2026-03-10', to: null }, '2026-03-10')).toEqual([
    { by: 'date', from: '2026-03-10', to: '2026-12-31' },
    { by: 'date', from: '2027-01-01', to: null },
  ]);
});

test('adding and subtracting days are inverse operations, and stop at the first and last day', () => {
  fc.assert(
    fc.property(days('1000-01-01', '8999-12-31'), fc.integer({ min: -1000, max: 1000 }), (day, count) => {
      const there = addDays(day, count);
      expect(addDays(there, -count)).toBe(day);
      expect(there > day).toBe(count > 0);
      expect(lengthInDays({ by: 'date', from: count > 0 ? day : there, to: count > 0 ? there : day })).toBe(
        Math.abs(count) + 1,
      );
    }),
  );
  expect(addDays('9999-12-31', 1)).toBe('9999-12-31');
  expect(addDays('0001-01-01', -1)).toBe('0001-01-01');
});

test('a window lies within a range exactly if the range holds both of its ends', () => {
  fc.assert(
    fc.property(anyWindow, anyWindow, (window, range) => {
      const start =
        range.from === null || (window.from !== null && holds(range, window.from)) || window.from === range.from;
      const end = range.to === null || (window.to !== null && holds(range, window.to)) || window.to === range.to;
      const crossing =
        (window.from !== null && range.to !== null && window.from > range.to) ||
        (window.to !== null && range.from !== null && window.to < range.from);
      if (!crossing) expect(within(window, range.from, range.to)).toBe(start && end);
      else expect(within(window, range.from, range.to)).toBe(false);
    }),
    { numRuns: 500 },
  );
});

test('the day of a moment depends on the time zone', () => {
  const moment = Date.parse('2026-01-15T23:30:00Z');
  expect(dayIn(moment, 'UTC')).toBe('2026-01-15');
  expect(dayIn(moment, 'Europe/Berlin')).toBe('2026-01-16');
  expect(dayIn(moment, 'America/Los_Angeles')).toBe('2026-01-15');
});
