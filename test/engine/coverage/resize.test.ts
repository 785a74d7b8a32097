import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR } from '../../../src/clock.ts';
import type { List } from '../../../src/engine/coverage/list.ts';
import { daysToCount, resizeWindows } from '../../../src/engine/coverage/resize.ts';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';
import { addDays, type Day } from '../../../src/engine/slices/date-windows.ts';
import { type DateSlice, overlap, sliceText } from '../../../src/engine/slices/slice.ts';

const TODAY = '2026-01-15';
const NOW = Date.parse('2026-01-15T10:00:00Z');
const PAGES = { trait: 'page size', value: '100' };
const FIRST_DAY = addDays(TODAY, -800);

/** Windows that follow each other from the first day to the future, with rows spread over their days at random. */
const lists = fc
  .record({
    lengths: fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 40 }),
    rowsADay: fc.infiniteStream(fc.nat(150)),
    ages: fc.infiniteStream(fc.nat(500)),
    due: fc.infiniteStream(fc.integer({ min: 0, max: 9 })),
    isCounted: fc.boolean(),
  })
  .map(({ lengths, rowsADay, ages, due, isCounted }) => {
    const next = <T>(stream: fc.Stream<T>): T => stream.next().value as T;
    const rowsOn = new Map<Day, number>();
    const slices: DateSlice[] = [{ by: 'date', from: null, to: addDays(FIRST_DAY, -1) }];
    let from = FIRST_DAY;
    for (const length of lengths) {
      const to = addDays(from, length - 1);
      if (to >= TODAY) break;
      slices.push({ by: 'date', from, to });
      from = addDays(to, 1);
    }
    slices.push({ by: 'date', from, to: null });
    for (let day = FIRST_DAY; day <= TODAY; day = addDays(day, 1)) rowsOn.set(day, next(rowsADay));
    const entries = slices.map((slice): Entry => {
      const provenAt = NOW - next(ages) * HOUR;
      const isDue = next(due) === 0;
      return {
        slice,
        provenAt,
        readAt: provenAt,
        requests: 1,
        rows: rowsIn(rowsOn, slice),
        changed: next(ages),
        hoursWatched: next(ages),
        dueSince: isDue ? NOW : null,
        dueReason: isDue ? 'something happened in it' : null,
      };
    });
    const traits = isCounted ? [] : [{ trait: 'paging', value: 'until empty' }];
    return { list: listOf(entries, profileOf([...traits, PAGES])), rowsOn };
  });

function rowsIn(rowsOn: ReadonlyMap<Day, number>, { from, to }: DateSlice): number {
  return [...rowsOn].reduce((sum, [day, rows]) => ((from ?? '') <= day && day <= (to ?? '9999') ? sum + rows : sum), 0);
}

const listOf = (entries: readonly Entry[], profile: List['profile']): List => ({
  job: {} as List['job'],
  profile,
  strategy: { partition: 'date', membership: 'date' } as List['strategy'],
  entries: new Map(entries.map(entry => [sliceText(entry.slice), entry])),
  total: null,
});

function resized(list: List, rowsOn: ReadonlyMap<Day, number>, keep: readonly DateSlice[] = []): List {
  const change = resizeWindows(list, { today: TODAY, rowsOn, keep });
  if (change === null) return list;
  const entries = new Map(list.entries);
  for (const slice of change.removed) entries.delete(sliceText(slice));
  for (const entry of change.put) entries.set(sliceText(entry.slice), entry);
  return { ...list, entries };
}

const inOrder = ({ entries }: List) =>
  [...entries.values()].sort((a, b) => (from(a) < from(b) ? -1 : 1)) as (Entry & { slice: DateSlice })[];
const from = ({ slice }: Entry) => (slice as DateSlice).from ?? '';
const sum = (list: List, value: (entry: Entry) => number) => inOrder(list).reduce((all, each) => all + value(each), 0);

test('resized windows follow each other without gap or overlap, with the same rows and the same changes', () => {
  fc.assert(
    fc.property(lists, ({ list, rowsOn }) => {
      const after = resized(list, rowsOn);
      const windows = inOrder(after);
      expect([windows[0]?.slice.from, windows.at(-1)?.slice.to]).toEqual([null, null]);
      for (const [index, { slice }] of windows.slice(1).entries())
        expect(slice.from).toBe(addDays(windows[index]?.slice.to as Day, 1));
      for (const { slice, rows } of windows) expect(rows).toBe(rowsIn(rowsOn, slice));
      expect(sum(after, ({ changed }) => changed)).toBeCloseTo(sum(list, ({ changed }) => changed));
    }),
    { numRuns: 120 },
  );
});

test('no part is proven better than what it was cut from', () => {
  fc.assert(
    fc.property(lists, ({ list, rowsOn }) => {
      for (const entry of inOrder(resized(list, rowsOn)))
        for (const before of inOrder(list))
          if (overlap(entry.slice, before.slice)) expect(entry.provenAt).toBeLessThanOrEqual(before.provenAt as number);
    }),
    { numRuns: 80 },
  );
});

test('resizing again changes nothing', () => {
  fc.assert(
    fc.property(lists, ({ list, rowsOn }) => {
      const once = resized(list, rowsOn);
      expect(resizeWindows(once, { today: TODAY, rowsOn, keep: [] })).toBeNull();
    }),
    { numRuns: 120 },
  );
});

test('what is due, and what others refer to, stays as it is', () => {
  fc.assert(
    fc.property(lists, fc.nat(50), ({ list, rowsOn }, index) => {
      const windows = inOrder(list);
      const kept = windows[index % windows.length] as Entry & { slice: DateSlice };
      const after = resized(list, rowsOn, [kept.slice]);
      for (const entry of windows)
        if (entry.dueSince !== null || entry === kept) expect(after.entries.get(sliceText(entry.slice))).toBe(entry);
    }),
    { numRuns: 80 },
  );
});

test('days are counted only where a window is too large', () => {
  fc.assert(
    fc.property(lists, ({ list, rowsOn }) => {
      const days = daysToCount(list, TODAY, []);
      const cut = inOrder(resized(list, rowsOn)).length;
      if (days === null) expect(cut).toBeLessThanOrEqual(list.entries.size);
      const counted = new Map([...rowsOn].filter(([day]) => days && days.from <= day && day <= days.to));
      expect(resized(list, counted)).toEqual(resized(list, rowsOn));
    }),
    { numRuns: 80 },
  );
});

test('a month of 3,100 young rows is cut into pages, old days that hold less than a page go together', () => {
  const month: DateSlice = { by: 'date', from: '2025-12-01', to: null };
  const oldDays = Array.from({ length: 60 }, (_, index): DateSlice => {
    const day = addDays('2025-01-01', index);
    return { by: 'date', from: day, to: day };
  });
  const between: DateSlice = { by: 'date', from: addDays('2025-01-01', 60), to: '2025-11-30' };
  const rowsOn = new Map<Day, number>();
  for (let day = '2025-01-01'; day <= TODAY; day = addDays(day, 1)) rowsOn.set(day, day < '2025-03-02' ? 50 : 100);
  const entries = [{ by: 'date', from: null, to: '2024-12-31' } as DateSlice, ...oldDays, between, month].map(
    (slice): Entry => ({
      slice,
      provenAt: NOW,
      readAt: NOW,
      requests: 1,
      rows: rowsIn(rowsOn, slice),
      changed: 0,
      hoursWatched: 0,
      dueSince: null,
      dueReason: null,
    }),
  );
  const windows = inOrder(resized(listOf(entries, profileOf([PAGES])), rowsOn));
  const days = (entry: Entry & { slice: DateSlice }) => `${entry.slice.from}..${entry.slice.to ?? ''}`;
  expect(windows.slice(1, 4).map(days)).toEqual([
    '2025-01-01..2025-01-10',
    '2025-01-11..2025-01-20',
    '2025-01-21..2025-01-30',
  ]);
  expect(windows.slice(-2).map(days)).toEqual(['2026-01-14..2026-01-14', '2026-01-15..']);
});
