import fc from 'fast-check';
import { expect, test } from 'vitest';
import customers from '../../../jobs/customers.ts';
import transactions from '../../../jobs/transactions.ts';
import { HOUR } from '../../../src/clock.ts';
import { ageOf, totalQuestions } from '../../../src/engine/agenda/totals.ts';
import { scoreOf, type Unscored } from '../../../src/engine/agenda/worth.ts';
import type { List } from '../../../src/engine/coverage/list.ts';
import type { Job } from '../../../src/engine/job.ts';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../../src/engine/profile/strategy.ts';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';
import { monthBefore, monthRange } from '../../../src/engine/slices/date-windows.ts';
import { sliceText, type TotalSlice } from '../../../src/engine/slices/slice.ts';
import { anEntry } from './an-entry.ts';

const TODAY = '2026-01-15';
const NOW = Date.parse(`${TODAY}T10:00:00Z`);
const YEARS_AGO_HOURS = 30_000;

interface Month {
  /** When the rows of the month were last read in full, in hours before now; null: never. */
  readonly readHoursAgo?: number | null | undefined;
  /** Requests that reading its rows takes. */
  readonly requests?: number;
  /** When its total was last asked for, in hours before now; undefined: never. */
  readonly askedHoursAgo?: number | undefined;
  readonly disagreed?: boolean;
}

/** A list whose months, the running one first, are one window each, between what is older and what is newer. */
function listOf(
  months: readonly Month[],
  given: { trust?: string; job?: Job; traits?: Record<string, string> } = {},
): List {
  const { trust, job = transactions, traits = {} } = given;
  const observed = { 'page size': '20', ...traits, ...(trust ? { 'control totals': trust } : {}) };
  const profile = profileOf(Object.entries(observed).map(([trait, value]) => ({ trait, value })));
  const entries: Entry[] = [];
  for (const [back, { readHoursAgo = 10, requests = 3, askedHoursAgo, disagreed }] of months.entries()) {
    const month = monthBefore(TODAY, back);
    const provenAt = readHoursAgo === null ? null : NOW - readHoursAgo * HOUR;
    const { from, to } = monthRange(month);
    entries.push(anEntry({ slice: { by: 'date', from, to }, provenAt, requests }));
    if (askedHoursAgo === undefined) continue;
    const dueReason = disagreed ? 'income: the source says 2, the rows sum up to 1' : null;
    entries.push(anEntry({ slice: { by: 'total', month }, readAt: NOW - askedHoursAgo * HOUR, dueReason }));
  }
  const to = monthRange(monthBefore(TODAY, months.length)).to;
  for (const outer of [
    { from: null, to },
    { from: '2026-02-01', to: null },
  ])
    entries.push(anEntry({ slice: { by: 'date', ...outer }, provenAt: NOW - YEARS_AGO_HOURS * HOUR }));
  return {
    job,
    profile,
    strategy: strategyFor(profile, job),
    entries: new Map(entries.map(entry => [sliceText(entry.slice), entry])),
    total: null,
  };
}

type TotalQuestion = Unscored & { readonly month: string };

/** The questions, by month. `rate`: changes an hour of each window. */
const questionsOf = (list: List, rate = 0.001): Map<string, TotalQuestion> =>
  new Map(
    totalQuestions(list, () => rate, TODAY, NOW).map(question => {
      const { month } = question.choice.slice as TotalSlice;
      return [month, { ...question, month }];
    }),
  );

const monthsOf = (list: List): string[] => [...questionsOf(list).keys()];

/** The score of reading the rows of a month instead. */
function scoreOfReading(list: List, month: string, rate: number): number {
  const entry = list.entries.get(sliceText({ by: 'date', ...monthRange(month) })) as Entry;
  return scoreOf({ rate, age: ageOf(entry, list, NOW), requests: entry.requests });
}

const [RUNNING, LAST, BEFORE] = ['2026-01', '2025-12', '2025-11'];

test('a month whose total disagreed is read before its total is requested again', () => {
  const disagreed = { askedHoursAgo: 5, disagreed: true };
  const months = (readHoursAgo: number) =>
    monthsOf(listOf([{}, {}, { ...disagreed, readHoursAgo }], { trust: 'agree' }));
  expect(months(7)).toEqual([RUNNING, LAST]);
  expect(months(3)).toEqual([RUNNING, LAST, BEFORE]);
});

test('until a total has agreed, totals are requested only of past months that were read in full, once each', () => {
  expect(monthsOf(listOf([{}, {}, {}]))).toEqual([LAST, BEFORE]);
  expect(monthsOf(listOf([{}, { readHoursAgo: null }, {}]))).toEqual([BEFORE]);
  expect(monthsOf(listOf([{}, { askedHoursAgo: 50 }, {}]))).toEqual([BEFORE]);
  expect(monthsOf(listOf([{}]))).toEqual([]);
});

test('no total is requested if totals follow other rules or are absent, or if the list has no dates or no totals', () => {
  const months = [{}, {}, {}];
  for (const trust of ['other rules', 'absent']) expect(monthsOf(listOf(months, { trust }))).toEqual([]);
  expect(monthsOf(listOf(months, { trust: 'agree', traits: { 'date filter': 'ignored' } }))).toEqual([]);
  expect(monthsOf(listOf(months, { trust: 'agree', job: customers }))).toEqual([]);
});

test('a month in which little changes is cheaper by its total than by reading, and one in which much changes is not', () => {
  const list = listOf([{}, { readHoursAgo: 48, requests: 5 }], { trust: 'agree' });
  const scores = (rate: number) => {
    const total = questionsOf(list, rate).get(LAST) as TotalQuestion;
    return { total: scoreOf(total), reading: scoreOfReading(list, LAST, rate) };
  };
  const [cold, hot] = [scores(0.0001), scores(1)];
  expect(cold.total).toBeGreaterThan(3 * cold.reading);
  expect(hot.total).toBeLessThan(hot.reading);
});

test('the price of a total grows from one request to one and those of the reading that it leads to', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 10 }), fc.double({ min: 0, max: 100, noNaN: true }), (requests, rate) => {
      const list = listOf([{}, { requests, readHoursAgo: 10 }], { trust: 'agree' });
      const price = (questionsOf(list, rate).get(LAST) as TotalQuestion).requests;
      expect(price).toBeGreaterThanOrEqual(1);
      expect(price).toBeLessThanOrEqual(1 + requests);
      expect((questionsOf(list, 2 * rate).get(LAST) as TotalQuestion).requests).toBeGreaterThanOrEqual(price);
    }),
  );
});

test('the older of two totals is requested first, and what was just read needs none', () => {
  const asked = listOf([{}, { askedHoursAgo: 4 }, { askedHoursAgo: 3 }, {}], { trust: 'agree' });
  const scores = new Map([...questionsOf(asked)].map(([month, question]) => [month, scoreOf(question)]));
  // Requested 4 hours, 3 hours and never ago; all rows were read 10 hours ago.
  expect(scores.get('2025-10')).toBeGreaterThan(scores.get(LAST) as number);
  expect(scores.get(LAST)).toBeGreaterThan(scores.get(BEFORE) as number);
  const read = questionsOf(listOf([{}, { readHoursAgo: 0 }], { trust: 'agree' })).get(LAST) as TotalQuestion;
  expect(scoreOf(read)).toBe(0);
});

test('rows whose total agreed count as younger, but not as read, since a total shows only most changes', () => {
  const ageIn = (month: Month, trust = 'agree') => {
    const list = listOf([{}, month], { trust });
    return ageOf(list.entries.get(sliceText({ by: 'date', ...monthRange(LAST) })) as Entry, list, NOW);
  };
  const read = { readHoursAgo: 100 };
  expect(ageIn(read)).toBe(100);
  expect(ageIn({ ...read, askedHoursAgo: 0 })).toBeCloseTo(100 * Math.sqrt(0.2));
  expect(ageIn({ ...read, askedHoursAgo: 50 })).toBeGreaterThan(50);
  expect(ageIn({ ...read, askedHoursAgo: 50 })).toBeLessThan(100);
  // It disagreed, was requested before the rows were read, or follows other rules.
  expect(ageIn({ ...read, askedHoursAgo: 50, disagreed: true })).toBe(100);
  expect(ageIn({ readHoursAgo: 20, askedHoursAgo: 50 })).toBe(20);
  expect(ageIn({ ...read, askedHoursAgo: 50 }, 'other rules')).toBe(100);
});

test('a window of several months counts as younger only if the totals of all of them agreed', () => {
  const year = { by: 'date', from: '2025-01-01', to: '2025-12-31' } as const;
  const ageWith = (months: number) => {
    const { entries, ...list } = listOf([], { trust: 'agree' });
    const entry = anEntry({ slice: year, provenAt: NOW - 100 * HOUR });
    const totals = Array.from({ length: months }, (_, back) =>
      anEntry({ slice: { by: 'total', month: monthBefore('2025-12-31', back) }, readAt: NOW - (back + 1) * HOUR }),
    );
    const all = [...entries.values(), entry, ...totals].map(each => [sliceText(each.slice), each] as const);
    return ageOf(entry, { ...list, entries: new Map(all) }, NOW);
  };
  expect(ageWith(11)).toBe(100);
  // The oldest of the twelve was requested 12 hours ago.
  expect(ageWith(12)).toBeCloseTo(Math.sqrt(0.8 * 12 ** 2 + 0.2 * 100 ** 2));
});

const anyMonth: fc.Arbitrary<Month> = fc.record({
  readHoursAgo: fc.option(fc.integer({ min: 0, max: 100 })),
  requests: fc.integer({ min: 1, max: 5 }),
  askedHoursAgo: fc.option(fc.double({ min: 0, max: 100, noNaN: true }), { nil: undefined }),
  disagreed: fc.boolean(),
});

test('in 2,000 generated lists, a total is requested only of a month that was read, takes two requests or more to read, or disagreed and was read since', () => {
  fc.assert(
    fc.property(fc.array(anyMonth, { maxLength: 14 }), fc.constantFrom(undefined, 'agree'), (months, trust) => {
      for (const [month, question] of questionsOf(listOf(months, trust ? { trust } : {}))) {
        const { readHoursAgo, requests, askedHoursAgo, disagreed } =
          months.find((_, back) => monthBefore(TODAY, back) === month) ?? {};
        expect(readHoursAgo).not.toBeNull();
        const isAsked = askedHoursAgo !== undefined;
        if (!isAsked || !disagreed) expect(requests).toBeGreaterThanOrEqual(2);
        expect(question.waiting !== undefined).toBe(isAsked && disagreed);
        if (isAsked && disagreed) expect(readHoursAgo).toBeLessThanOrEqual(askedHoursAgo + 1e-6);
        if (trust === undefined) expect(month).not.toBe(RUNNING);
        if (trust === undefined) expect(isAsked).toBe(false);
        expect(question.age).toBeLessThanOrEqual(Math.min(readHoursAgo ?? 0, askedHoursAgo ?? 100) + 1e-6);
      }
    }),
    { numRuns: 1000 },
  );
});

test('in 300 generated lists, each eligible month is requested twice in as many turns as that takes if all change alike', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 14 }), costs => {
      const worth = costs.flatMap((requests, back) => (requests >= 2 ? [monthBefore(TODAY, back)] : []));
      const asked = new Map<string, number>();
      const order: string[] = [];
      for (let turn = 0; turn < 2 * worth.length; turn++) {
        const months = costs.map((requests, back) => {
          const at = asked.get(monthBefore(TODAY, back));
          const hours = { readHoursAgo: 100 + 2 * turn };
          return { requests, ...hours, ...(at === undefined ? {} : { askedHoursAgo: 2 * (turn - at) }) };
        });
        const questions = [...questionsOf(listOf(months, { trust: 'agree' }), 1e-9).values()];
        const best = questions.reduce((first, each) => (scoreOf(each) > scoreOf(first) ? each : first));
        asked.set(best.month, turn);
        order.push(best.month);
      }
      expect(order.slice(0, worth.length).toSorted()).toEqual(worth.toSorted());
      expect(order.slice(worth.length).toSorted()).toEqual(worth.toSorted());
    }),
    { numRuns: 300 },
  );
});
