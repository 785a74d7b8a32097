import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../../src/clock.ts';
import { ageClass, changeRate, nextSlice, pooledPrior, score } from '../../../src/engine/agenda/next-slice.ts';
import { learn } from '../../../src/engine/coverage/prove.ts';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';

const start = Date.parse('2026-01-15T10:00:00Z');

function entry(index: number, given: Partial<Entry> = {}): Entry {
  const day = new Date(start - index * DAY).toISOString().slice(0, 10);
  return {
    slice: { by: 'date', from: day, to: day },
    provenAt: start,
    readAt: start,
    requests: 1,
    rows: 100,
    changed: 0,
    hoursWatched: 0,
    dueSince: null,
    dueReason: null,
    ...given,
  };
}

/** A source whose slices change at these rates (rows an hour), read one slice after the other; how often and how late each was. */
function simulate(slices: readonly { rate: number; requests: number }[], readings: number, random: () => number) {
  const entries = slices.map((slice, index) => entry(index, { requests: slice.requests }));
  const reads = slices.map(() => 0);
  const oldest = slices.map(() => 0);
  let now = start;
  for (let turn = 0; turn < readings; turn++) {
    const chosen = nextSlice(entries, turn, pooledPrior(entries, now), now) as Entry;
    const index = entries.indexOf(chosen);
    const slice = slices[index] as (typeof slices)[number];
    now += slice.requests * MINUTE;
    const hours = (now - (chosen.provenAt as number)) / HOUR;
    // Poisson's mean, rounded by chance: enough for the averages that count here.
    const changed = Math.floor(slice.rate * hours + random());
    entries[index] = learn(chosen, { at: now, changed, rows: 100, requests: slice.requests });
    reads[index] = (reads[index] as number) + 1;
    for (const [each, other] of entries.entries())
      oldest[each] = Math.max(oldest[each] as number, now - (other.provenAt as number));
  }
  return { reads, oldest, entries, now };
}

const seeded = (seed: number) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

test('no slice starves in a thousand readings, whatever the rates and costs', () => {
  const slices = fc.array(
    fc.record({
      rate: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1000, noNaN: true })),
      requests: fc.integer({ min: 1, max: 10 }),
    }),
    { minLength: 2, maxLength: 40 },
  );
  fc.assert(
    fc.property(slices, fc.integer(), (given, seed) => {
      const { oldest } = simulate(given, 1000, seeded(seed));
      // Between two readings of a slice lie at most five turns for every slice, each of at most ten minutes.
      const bound = 5 * (given.length + 1) * 10 * MINUTE;
      for (const age of oldest) expect(age).toBeLessThanOrEqual(bound);
    }),
    { numRuns: 30 },
  );
});

test('a slice that changes more often is read more often, and a more expensive one less often', () => {
  const others = Array.from({ length: 10 }, () => ({ rate: 0.01, requests: 1 }));
  const rates = simulate([{ rate: 4, requests: 1 }, { rate: 0.04, requests: 1 }, ...others], 1000, seeded(1));
  expect(rates.reads[0]).toBeGreaterThan(2 * (rates.reads[1] as number));
  const costs = simulate([{ rate: 4, requests: 1 }, { rate: 4, requests: 9 }, ...others], 1000, seeded(2));
  expect(costs.reads[0]).toBeGreaterThan(1.5 * (costs.reads[1] as number));
});

test('the learned rate converges to the true rate', () => {
  const slices = [{ rate: 6, requests: 1 }, { rate: 0.5, requests: 1 }, ...Array(6).fill({ rate: 0.01, requests: 1 })];
  const { entries, now } = simulate(slices, 20_000, seeded(3));
  const prior = pooledPrior(entries, now);
  expect(changeRate(entries[0] as Entry, prior)).toBeGreaterThan(3);
  expect(changeRate(entries[0] as Entry, prior)).toBeLessThan(9);
  expect(changeRate(entries[1] as Entry, prior)).toBeGreaterThan(0.25);
  expect(changeRate(entries[1] as Entry, prior)).toBeLessThan(1.5);
});

const someEntries = fc.array(
  fc.record({
    provenAt: fc.option(fc.integer({ min: start - 1000 * HOUR, max: start }), { freq: 2 }),
    requests: fc.integer({ min: 1, max: 10 }),
    changed: fc.double({ min: 0, max: 500, noNaN: true }),
    hoursWatched: fc.double({ min: 0, max: 5000, noNaN: true }),
  }),
  { minLength: 1, maxLength: 20 },
);

test('every fifth turn reads the slice with the oldest proof, whatever the rates', () => {
  fc.assert(
    fc.property(someEntries, fc.nat({ max: 1000 }), (given, five) => {
      const entries = given.map((each, index) => entry(index, each));
      const proofs = entries.flatMap(each => each.provenAt ?? []);
      const chosen = nextSlice(entries, 5 * five + 4, pooledPrior(entries, start), start);
      if (proofs.length > 0) expect(chosen?.provenAt).toBe(Math.min(...proofs));
    }),
  );
});

test('of the other turns, three in four read a slice that was never read, newest first, and one reads the highest score', () => {
  fc.assert(
    fc.property(someEntries, fc.nat({ max: 1000 }), (given, five) => {
      const entries = given.map((each, index) => entry(index, each));
      const unread = entries.filter(each => each.provenAt === null);
      const read = entries.filter(each => each.provenAt !== null);
      const prior = pooledPrior(entries, start);
      const best = Math.max(...read.map(each => score(each, prior, start)));
      for (let turn = 5 * five; turn < 5 * five + 4; turn++) {
        const chosen = nextSlice(entries, turn, prior, start) as Entry;
        if (read.length === 0 || (unread.length > 0 && turn % 5 !== 3)) expect(chosen).toBe(unread[0]);
        else expect(score(chosen, prior, start)).toBe(best);
      }
    }),
  );
});

test('no slice is chosen if none is due', () => {
  expect(nextSlice([], 0, () => 0, start)).toBeUndefined();
});

test('the score grows with change and with the square of age, and falls with cost', () => {
  const prior = () => 0;
  const of = (given: Partial<Entry>, later = 2 * HOUR) => score(entry(0, given), prior, start + later);
  expect(of({}, 4 * HOUR) / of({}, 2 * HOUR)).toBeCloseTo(4);
  expect(of({ requests: 1 }) / of({ requests: 5 })).toBeCloseTo(5);
  expect(of({ changed: 10, hoursWatched: 100 })).toBeGreaterThan(of({ changed: 1, hoursWatched: 100 }));
  expect(of({ provenAt: null })).toBe(Number.POSITIVE_INFINITY);
});

test('a rate is never below one row a year, and starts from the rate of slices of similar age', () => {
  fc.assert(
    fc.property(someEntries, given => {
      const entries = given.map((each, index) => entry(index, each));
      const prior = pooledPrior(entries, start);
      const yearly = 1 / (365 * 24);
      for (const each of entries) {
        const rate = changeRate(each, prior);
        expect(rate).toBeGreaterThanOrEqual(Math.min(yearly, rate));
        expect(rate * (each.hoursWatched + 168)).toBeGreaterThanOrEqual(168 * yearly - 1e-9);
      }
    }),
  );
  const busy = entry(0, { changed: 50, hoursWatched: 100 });
  const fresh = entry(0, { provenAt: null });
  const far = entry(900, { provenAt: null });
  const prior = pooledPrior([busy, fresh, far], start);
  expect(ageClass(busy, start)).not.toBe(ageClass(far, start));
  expect(changeRate(fresh, prior)).toBeGreaterThan(100 * changeRate(far, prior));
});

test('the first reading sets no rate; later ones do, and older evidence loses half its weight in four weeks', () => {
  const first = learn(entry(0, { provenAt: null }), { at: start, changed: 100, rows: 100, requests: 1 });
  expect([first.changed, first.hoursWatched, first.provenAt]).toEqual([0, 0, start]);
  const second = learn(first, { at: start + 10 * HOUR, changed: 5, rows: 101, requests: 2 });
  expect([second.changed, second.hoursWatched, second.rows, second.requests]).toEqual([5, 10, 101, 2]);
  const later = learn(second, { at: start + 10 * HOUR + 28 * DAY, changed: 0, rows: 101, requests: 2 });
  expect(later.changed).toBeCloseTo(2.5);
  expect(later.hoursWatched).toBeCloseTo(5 + 28 * 24);
});
