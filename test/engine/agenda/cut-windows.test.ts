import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR } from '../../../src/clock.ts';
import { cutOut, cutWindows, daysToCount } from '../../../src/engine/agenda/cut-windows.ts';
import type { List } from '../../../src/engine/coverage/list.ts';
import type { CoverageChange } from '../../../src/engine/coverage/prove.ts';
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

const cutAnew = (list: List, rowsOn: ReadonlyMap<Day, number>, keep: readonly DateSlice[] = []): List =>
  changed(list, cutWindows(list, { today: TODAY, now: NOW, rowsOn, keep }));

function changed(list: List, change: CoverageChange | null): List {
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

test('windows that were cut anew follow each other without gap or overlap, with the same rows and the same changes', () => {
  fc.assert(
    fc.property(lists, ({ list, rowsOn }) => {
      const after = cutAnew(list, rowsOn);
      const windows = inOrder(after);
      expect([windows[0]?.slice.from, windows.at(-1)?.slice.to]).toEqual([null, null]);
      for (const [index, { slice }] of windows.slice(1).entries())
        expect(slice.from).toBe(addDays(windows[index]?.slice.to as Day, 1));
      for (const { slice, rows } of windows) expect(rows).toBe(rowsIn(rowsOn, slice));
      expect(sum(after, ({ changed }) => changed)).toBeCloseTo(sum(list, ({ changed }) => changed));
    }),
    { numRuns: 30 },
  );
});

test('no part is proven better than what it was cut from', () => {
  fc.assert(
    fc.property(lists, ({ list, rowsOn }) => {
      for (const entry of inOrder(cutAnew(list, rowsOn)))
        for (const before of inOrder(list))
          if (overlap(entry.slice, before.slice)) expect(entry.provenAt).toBeLessThanOrEqual(before.provenAt as number);
    }),
    { numRuns: 20 },
  );
});

test('cutting again changes nothing, as far as nothing was learnt meanwhile', () => {
  fc.assert(
    fc.property(lists, ({ list, rowsOn }) => {
      const unlearnt = [...list.entries].map(
        ([text, each]) => [text, { ...each, changed: 0, hoursWatched: 0 }] as const,
      );
      const once = cutAnew({ ...list, entries: new Map(unlearnt) }, rowsOn);
      expect(cutWindows(once, { today: TODAY, now: NOW, rowsOn, keep: [] })).toBeNull();
    }),
    { numRuns: 30 },
  );
});

test('what is due, and what others refer to, stays as it is', () => {
  fc.assert(
    fc.property(lists, fc.nat(50), ({ list, rowsOn }, index) => {
      const windows = inOrder(list);
      const kept = windows[index % windows.length] as Entry & { slice: DateSlice };
      const after = cutAnew(list, rowsOn, [kept.slice]);
      for (const entry of windows)
        if (entry.dueSince !== null || entry === kept) expect(after.entries.get(sliceText(entry.slice))).toBe(entry);
    }),
    { numRuns: 20 },
  );
});

test('the first day to count is that of the first window that may be cut', () => {
  fc.assert(
    fc.property(lists, ({ list, rowsOn }) => {
      const first = daysToCount(list, [])?.from ?? null;
      const counted = new Map([...rowsOn].filter(([day]) => first !== null && first <= day));
      expect(cutAnew(list, counted)).toEqual(cutAnew(list, rowsOn));
    }),
    { numRuns: 20 },
  );
});

const namedDays = fc.tuple(fc.nat(850), fc.nat(40)).map(
  ([start, length]): DateSlice => ({
    by: 'date',
    from: addDays(FIRST_DAY, start),
    to: addDays(FIRST_DAY, start + length),
  }),
);

test('named days are cut out of windows of several pages, and nothing else changes', () => {
  fc.assert(
    fc.property(lists, fc.array(namedDays, { minLength: 1, maxLength: 3 }), ({ list: given, rowsOn }, named) => {
      const pages = ({ rows }: Entry) => Math.max(Math.ceil((rows ?? 0) / 100), 1);
      const list = changed(given, {
        removed: [],
        put: [...given.entries.values()].map(each => ({ ...each, requests: pages(each) })),
      });
      const isNamed = ({ slice }: Entry) => named.some(each => overlap(each, slice));
      const after = changed(list, cutOut(list, named, { today: TODAY, now: NOW, rowsOn, keep: [] }));
      const windows = inOrder(after);
      // Together they hold the days that they held before.
      for (const [index, { slice }] of windows.entries()) {
        const next = windows[index + 1];
        expect(next ? next.slice.from : null).toBe(next && slice.to !== null ? addDays(slice.to, 1) : null);
      }
      for (const window of windows.filter(each => !list.entries.has(sliceText(each.slice)))) {
        const before = inOrder(list).find(each => overlap(each.slice, window.slice)) as Entry;
        expect(window).toMatchObject({ provenAt: before.provenAt, readAt: before.readAt });
        expect(before.requests).toBeGreaterThan(1);
        // It holds either only named days or none.
        const { from, to } = window.slice;
        const together = [...rowsOn.keys()].filter(day => (from ?? '') <= day && day <= (to ?? '9999'));
        const share = together.filter(day => named.some(each => (each.from ?? '') <= day && day <= (each.to ?? '')));
        expect([0, together.length]).toContain(share.length);
      }
      const toRead = (each: List) =>
        inOrder(each)
          .filter(isNamed)
          .reduce((sum, { requests }) => sum + requests, 0);
      if (after !== list) expect(toRead(after)).toBeLessThan(toRead(list));
    }),
    { numRuns: 200 },
  );
});

const aWindow = (slice: DateSlice, rowsOn: ReadonlyMap<Day, number>, more: Partial<Entry> = {}): Entry => ({
  slice,
  provenAt: NOW,
  readAt: NOW,
  requests: 1,
  rows: rowsIn(rowsOn, slice),
  changed: 0,
  hoursWatched: 0,
  dueSince: null,
  dueReason: null,
  ...more,
});

const year: DateSlice = { by: 'date', from: '2025-01-16', to: null };
const ofAYear = (rowsADay: number) =>
  new Map(Array.from({ length: 365 }, (_, index): [Day, number] => [addDays(TODAY, -index), rowsADay]));
const cutOfAYear = (rowsADay: number, windows: (rowsOn: ReadonlyMap<Day, number>) => Entry[]) => {
  const rowsOn = ofAYear(rowsADay);
  return inOrder(cutAnew(listOf(windows(rowsOn), profileOf([PAGES])), rowsOn));
};

test('days that do not fill their last page go together', () => {
  const windows = cutOfAYear(123, rowsOn => [
    aWindow({ by: 'date', from: '2025-01-16', to: '2025-02-10' }, rowsOn),
    aWindow({ by: 'date', from: '2025-02-11', to: null }, rowsOn),
  ]);
  const requests = windows.reduce((sum, each) => sum + each.requests, 0);
  // A day alone takes two requests for 123 rows.
  expect(requests).toBeLessThan((365 * 123 * 1.05) / 100);
  for (const { rows } of windows) expect(rows).toBeLessThanOrEqual(500);
});

test('what changes more often is cut off', () => {
  const busy: DateSlice = { by: 'date', from: '2025-06-01', to: '2025-06-03' };
  const windows = cutOfAYear(30, rowsOn => [
    aWindow({ ...year, to: '2025-05-31' }, rowsOn, { hoursWatched: 500 }),
    aWindow(busy, rowsOn, { changed: 200, hoursWatched: 500 }),
    aWindow({ ...year, from: '2025-06-04' }, rowsOn, { hoursWatched: 500 }),
  ]);
  expect(windows.map(({ slice }) => sliceText(slice))).toContain(sliceText(busy));
});

test('young rows, which change most, are read in smaller windows than older ones', () => {
  const windows = cutOfAYear(20, rowsOn => [aWindow(year, rowsOn)]);
  const rows = (from: Day, to: Day) =>
    windows.flatMap(each =>
      from <= (each.slice.from ?? '') && (each.slice.to ?? TODAY) <= to ? [each.rows ?? 0] : [],
    );
  const mean = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0) / values.length;
  expect(mean(rows('2025-12-31', TODAY))).toBeLessThan(mean(rows('2025-01-16', '2025-07-01')) / 2);
});
