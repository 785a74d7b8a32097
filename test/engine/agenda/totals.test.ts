import fc from 'fast-check';
import { expect, test } from 'vitest';
import customers from '../../../jobs/customers.ts';
import transactions from '../../../jobs/transactions.ts';
import { totalToAsk } from '../../../src/engine/agenda/totals.ts';
import type { List } from '../../../src/engine/coverage/list.ts';
import type { Job } from '../../../src/engine/job.ts';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../../src/engine/profile/strategy.ts';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';
import { monthBefore, monthRange } from '../../../src/engine/slices/date-windows.ts';
import { type Slice, sliceText } from '../../../src/engine/slices/slice.ts';

const TODAY = '2026-01-15';
const NOW = Date.parse(`${TODAY}T10:00:00Z`);
const HOUR = 3_600_000;
const YEARS_AGO_HOURS = 30_000;

const entryOf = (slice: Slice, fields: Partial<Entry>): Entry => ({
  slice,
  provenAt: null,
  readAt: null,
  requests: 1,
  rows: null,
  changed: 0,
  hoursWatched: 0,
  dueSince: null,
  dueReason: null,
  ...fields,
});

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
    entries.push(entryOf({ by: 'date', from, to }, { provenAt, readAt: provenAt, requests }));
    if (askedHoursAgo === undefined) continue;
    const dueReason = disagreed ? 'income: the source says 2, the rows sum up to 1' : null;
    entries.push(entryOf({ by: 'total', month }, { readAt: NOW - askedHoursAgo * HOUR, dueReason }));
  }
  const to = monthRange(monthBefore(TODAY, months.length)).to;
  for (const outer of [
    { from: null, to },
    { from: '2026-02-01', to: null },
  ])
    entries.push(entryOf({ by: 'date', ...outer }, { provenAt: NOW - YEARS_AGO_HOURS * HOUR }));
  return {
    job,
    profile,
    strategy: strategyFor(profile, job),
    entries: new Map(entries.map(entry => [sliceText(entry.slice), entry])),
    total: null,
  };
}

const ask = (list: List): string | null => totalToAsk(list, TODAY, NOW)?.month ?? null;

test('the first total requested is that of a month read again after it disagreed', () => {
  const disagreed = { askedHoursAgo: 5, disagreed: true };
  expect(ask(listOf([{}, {}, { ...disagreed, readHoursAgo: 3 }], { trust: 'agree' }))).toBe('2025-11');
  // Not read again yet: asking once more would give the same answer.
  expect(ask(listOf([{}, {}, { ...disagreed, readHoursAgo: 7 }], { trust: 'agree' }))).toBe('2026-01');
});

test('the next totals are those never requested, newest first', () => {
  const list = listOf([{ askedHoursAgo: 2 }, {}, { askedHoursAgo: 99 }, {}], { trust: 'agree' });
  expect(ask(list)).toBe('2025-12');
});

test('after those, the oldest total is requested', () => {
  const list = listOf([{ askedHoursAgo: 2 }, { askedHoursAgo: 4 }, { askedHoursAgo: 3 }], { trust: 'agree' });
  expect(ask(list)).toBe('2025-12');
});

test('until a total has agreed, totals are requested only of past months that were read in full, once each', () => {
  expect(ask(listOf([{}, {}, {}]))).toBe('2025-12');
  expect(ask(listOf([{}, { readHoursAgo: null }, {}]))).toBe('2025-11');
  expect(ask(listOf([{}, { askedHoursAgo: 50 }, {}]))).toBe('2025-11');
  expect(ask(listOf([{}]))).toBeNull();
});

test('no total is requested if totals follow other rules or are absent, or if the list has no dates or no totals', () => {
  const months = [{}, {}, {}];
  for (const trust of ['other rules', 'absent']) expect(ask(listOf(months, { trust }))).toBeNull();
  expect(ask(listOf(months, { trust: 'agree', traits: { 'date filter': 'ignored' } }))).toBeNull();
  expect(ask(listOf(months, { trust: 'agree', job: customers }))).toBeNull();
});

const anyMonth: fc.Arbitrary<Month> = fc.record({
  readHoursAgo: fc.option(fc.integer({ min: 0, max: 100 })),
  requests: fc.integer({ min: 1, max: 5 }),
  askedHoursAgo: fc.option(fc.double({ min: 0, max: 100, noNaN: true }), { nil: undefined }),
  disagreed: fc.boolean(),
});

test('in 2,000 generated lists, a total is requested only of a month that was read, takes two requests or more to read, and was not requested for an hour', () => {
  fc.assert(
    fc.property(fc.array(anyMonth, { maxLength: 14 }), fc.constantFrom(undefined, 'agree'), (months, trust) => {
      const month = ask(listOf(months, trust ? { trust } : {}));
      if (month === null) return;
      const found = months.find((_, back) => monthBefore(TODAY, back) === month);
      expect(found?.readHoursAgo).not.toBeNull();
      expect(found?.requests).toBeGreaterThanOrEqual(2);
      expect(found?.askedHoursAgo ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(1);
    }),
    { numRuns: 2000 },
  );
});

test('in 300 generated lists, each eligible month is requested once before any is requested again', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 14 }), costs => {
      const worth = costs.flatMap((requests, back) => (requests >= 2 ? [monthBefore(TODAY, back)] : []));
      const asked = new Map<string, number>();
      const order: string[] = [];
      for (let turn = 0; turn < 2 * worth.length; turn++) {
        // Each turn two hours after the last, so that none has to rest.
        const months = costs.map((requests, back) => {
          const at = asked.get(monthBefore(TODAY, back));
          return { requests, ...(at === undefined ? {} : { askedHoursAgo: 2 * (turn - at) }) };
        });
        const month = ask(listOf(months, { trust: 'agree' })) as string;
        asked.set(month, turn);
        order.push(month);
      }
      expect(order).toEqual([...worth, ...worth]);
    }),
    { numRuns: 300 },
  );
});
