import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY, HOUR } from '../../../src/clock.ts';
import { ageClass, changeRate, pooledPrior } from '../../../src/engine/agenda/change-rates.ts';
import { learn, learnSince } from '../../../src/engine/coverage/prove.ts';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';
import { parseSlice, type Slice } from '../../../src/engine/slices/slice.ts';
import { anEntry } from './an-entry.ts';

const NOW = Date.parse('2026-01-15T10:00:00Z');
const YEARLY = 1 / (365 * 24);

function dayBack(days: number): Slice {
  const day = new Date(NOW - days * DAY).toISOString().slice(0, 10);
  return { by: 'date', from: day, to: day };
}

const anySlice = fc.oneof(
  fc.nat({ max: 2000 }).map(dayBack),
  fc.constantFrom('newest', 'whole', 'id 1..100', 'status=Unpaid', 'date 2026-01-01..').map(parseSlice),
);

const anyEntry: fc.Arbitrary<Entry> = fc
  .record({
    slice: anySlice,
    rows: fc.option(fc.integer({ min: 0, max: 1000 })),
    changed: fc.double({ min: 0, max: 500, noNaN: true }),
    hoursWatched: fc.integer({ min: 0, max: 5000 }),
  })
  .map(anEntry);

test('a rate is never below one row a year before a slice was watched, and sinks only with the hours watched', () => {
  fc.assert(
    fc.property(fc.array(anyEntry, { minLength: 1, maxLength: 20 }), entries => {
      const prior = pooledPrior(entries, NOW);
      for (const each of entries) {
        const weight = each.slice.by === 'newest' || each.slice.by === 'value' ? 24 : 168;
        const rate = changeRate(each, prior);
        expect(changeRate({ ...each, changed: 0, hoursWatched: 0 }, prior)).toBeGreaterThanOrEqual(YEARLY);
        expect(rate).toBeGreaterThanOrEqual((YEARLY * weight) / (each.hoursWatched + weight) - 1e-12);
        expect(changeRate({ ...each, changed: each.changed + 1 }, prior)).toBeGreaterThan(rate);
      }
    }),
  );
});

test('a slice starts from what slices of a similar age have shown, in proportion to its rows', () => {
  const busy = anEntry({ slice: dayBack(4), changed: 50, hoursWatched: 100 });
  const fresh = anEntry({ slice: dayBack(5) });
  const far = anEntry({ slice: dayBack(900) });
  const prior = pooledPrior([busy, fresh, far], NOW);
  expect(ageClass(busy, NOW)).toBe(ageClass(fresh, NOW));
  expect(ageClass(busy, NOW)).not.toBe(ageClass(far, NOW));
  expect(changeRate(fresh, prior)).toBeCloseTo(50 / 100, 1);
  expect(changeRate({ ...fresh, rows: 200 }, prior)).toBeCloseTo(2 * changeRate(fresh, prior));
});

test('before its class has shown anything, a slice is taken to be as busy for its age as the rest of the list is', () => {
  const rateOf = (days: number, changed: number) => {
    const seen = anEntry({ slice: dayBack(60), changed, hoursWatched: 1000 });
    const unseen = anEntry({ slice: dayBack(days) });
    return changeRate(unseen, pooledPrior([seen, unseen], NOW));
  };
  expect(rateOf(4, 100)).toBeGreaterThan(5 * rateOf(4, 10));
  expect(rateOf(4, 100)).toBeGreaterThan(5 * rateOf(40, 100));
  expect(rateOf(4, 0)).toBeGreaterThan(YEARLY);
});

test('the values of a field share what they have shown, and other kinds of slice do not count for them', () => {
  const entries = [
    anEntry({ slice: parseSlice('status=Unpaid'), changed: 24, hoursWatched: 24 }),
    anEntry({ slice: parseSlice('status=Partially Paid') }),
    anEntry({ slice: parseSlice('customer_id=7') }),
    anEntry({ slice: { by: 'newest' } }),
  ];
  const prior = pooledPrior(entries, NOW);
  const [, status, customer, newest] = entries.map(entry => changeRate(entry, prior));
  expect(status).toBeGreaterThan(0.9);
  for (const rate of [customer, newest]) expect(rate).toBeLessThan(0.05);
});

test('a day of readings outweighs the prior of what is watched, a week of readings that of other slices', () => {
  const prior = () => 0;
  const rate = (slice: Slice, hours: number) =>
    changeRate(anEntry({ slice, changed: hours, hoursWatched: hours }), prior);
  expect(rate({ by: 'newest' }, 24)).toBeCloseTo(0.5, 3);
  expect(rate(parseSlice('status=Unpaid'), 24)).toBeCloseTo(0.5, 3);
  expect(rate(dayBack(1), 168)).toBeCloseTo(0.5, 3);
  expect(rate(dayBack(1), 24)).toBeLessThan(0.2);
});

test('the age of a window is that of its newest day, in steps that double', () => {
  const classOf = (text: string) => ageClass(anEntry({ slice: parseSlice(text) }), NOW);
  expect(classOf('date 2020-01-01..')).toBe(classOf('date 2026-01-01..2026-01-31'));
  expect(classOf('date 2025-01-01..2025-12-31')).not.toBe(classOf('date 2025-01-01..2025-06-30'));
  expect(classOf('date 2023-01-01..2023-03-31')).toBe(classOf('date 2022-12-01..2023-06-30'));
  expect(classOf('id 1..10')).toBe(classOf('id 11..'));
});

test('the first reading sets no rate; later ones do, and older evidence loses half its weight in four weeks', () => {
  const first = learn(anEntry({ slice: dayBack(0) }), { at: NOW, changed: 100, rows: 100, requests: 1 });
  expect([first.changed, first.hoursWatched, first.provenAt]).toEqual([0, 0, NOW]);
  const second = learn(first, { at: NOW + 10 * HOUR, changed: 5, rows: 101, requests: 2 });
  expect([second.changed, second.hoursWatched, second.rows, second.requests]).toEqual([5, 10, 101, 2]);
  const later = learn(second, { at: NOW + 10 * HOUR + 28 * DAY, changed: 0, rows: 101, requests: 2 });
  expect(later.changed).toBeCloseTo(2.5);
  expect(later.hoursWatched).toBeCloseTo(5 + 28 * 24);
});

/** The history of a slice that is read every hour and shows so many changes each time. */
const watchedHourly = (start: Entry, changes: readonly number[]): Entry =>
  changes.reduce(
    (entry, changed) => learn(entry, { at: (entry.provenAt as number) + HOUR, changed, rows: 100, requests: 1 }),
    start,
  );
const known = anEntry({ slice: dayBack(100), provenAt: NOW, changed: 0.2, hoursWatched: 200 });
const hourly = ({ changed, hoursWatched }: Entry) => changed / hoursWatched;

test('a mass edit counts as a few changes, not as a habit', () => {
  expect(hourly(watchedHourly(known, [100]))).toBeLessThan(0.06);
});

test('a habit that lasts is learnt within a day, and so is its end', () => {
  const busy = watchedHourly(
    known,
    Array.from({ length: 24 }, () => 20),
  );
  expect(hourly(busy)).toBeGreaterThan(10);
  expect(
    hourly(
      watchedHourly(
        busy,
        Array.from({ length: 24 }, () => 0),
      ),
    ),
  ).toBeLessThan(3);
});

test('readings of what is watched teach its rate and prove nothing', () => {
  const first = learnSince(anEntry({ slice: { by: 'newest' } }), null, { at: NOW, changed: 9, rows: 100, requests: 1 });
  expect([first.changed, first.hoursWatched, first.readAt, first.provenAt]).toEqual([0, 0, NOW, null]);
  const second = learnSince(first, first.readAt, { at: NOW + 2 * HOUR, changed: 4, rows: 100, requests: 1 });
  expect([second.changed, second.hoursWatched, second.provenAt]).toEqual([4, 2, null]);
});

test('a clock that was put back teaches nothing of time', () => {
  const read = anEntry({ slice: dayBack(0), provenAt: NOW, hoursWatched: 10 });
  const again = learn(read, { at: NOW - HOUR, changed: 1, rows: 100, requests: 1 });
  expect([again.changed, again.hoursWatched]).toEqual([1, 10]);
});
