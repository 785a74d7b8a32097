import fc from 'fast-check';
import { expect, test } from 'vitest';
import transactions from '../../../jobs/transactions.ts';
import { compareTotals, type Totals } from '../../../src/engine/coverage/control-totals.ts';
import type { List } from '../../../src/engine/coverage/list.ts';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../../src/engine/profile/strategy.ts';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';
import { parseSlice, sliceText, type TotalSlice } from '../../../src/engine/slices/slice.ts';

const NOW = Date.parse('2026-01-15T10:00:00Z');
const NOVEMBER: TotalSlice = { by: 'total', month: '2025-11' };
const WINDOWS = [
  'date ..2025-10-31',
  'date 2025-11-01..2025-11-20',
  'date 2025-11-21..2025-12-31',
  'date 2026-01-01..',
];

const entryOf = (text: string, fields: Partial<Entry> = {}): Entry => ({
  slice: parseSlice(text),
  provenAt: null,
  readAt: NOW - 1000,
  requests: 1,
  rows: null,
  changed: 0,
  hoursWatched: 0,
  dueSince: null,
  dueReason: null,
  ...fields,
});

/** A list in four windows; `totals`: the months whose totals were asked for before, and how they differed. */
function listOf(trust: string | null, totals: Readonly<Record<string, string | null>> = {}): List {
  const profile = profileOf(trust === null ? [] : [{ trait: 'control totals', value: trust }]);
  const entries = [
    ...WINDOWS.map(text => entryOf(text, { provenAt: NOW - 1000 })),
    ...Object.entries(totals).map(([month, dueReason]) => entryOf(`total ${month}`, { dueReason })),
  ];
  return {
    job: transactions,
    profile,
    strategy: strategyFor(profile, transactions),
    entries: new Map(entries.map(entry => [sliceText(entry.slice), entry])),
    total: null,
  };
}

const EQUAL: Totals = { said: { income: '10.5' }, stored: { income: '10.50' }, names: ['income'] };
const DIFFERENT: Totals = { said: { income: 11 }, stored: { income: '10.50' }, names: ['income'] };
const REASON = 'income: the source says 11, the rows sum up to 10.50';

/** The windows that become due, and what is kept of the total itself. */
function compare(list: List, totals: Totals) {
  const { put = [], observed } = compareTotals(list, NOVEMBER, NOW, totals);
  const [total, ...windows] = put;
  expect(sliceText(total?.slice as TotalSlice)).toBe('total 2025-11');
  expect(total).toMatchObject({ readAt: NOW, provenAt: null, requests: 1 });
  return { reason: total?.dueReason, due: windows.map(({ slice }) => sliceText(slice)), windows, observed };
}

test('a total that disagrees makes every window of its month due, once', () => {
  const first = compare(listOf('agree', { '2025-11': null }), DIFFERENT);
  expect(first).toMatchObject({ reason: REASON, due: WINDOWS.slice(1, 3) });
  for (const window of first.windows) {
    const reason = "the source's total of 2025-11 is not what its rows sum up to";
    expect(window).toMatchObject({ dueSince: NOW, dueReason: reason, provenAt: NOW - 1000 });
  }
  // It still disagrees after the month was read again: reported, and not obeyed.
  expect(compare(listOf('agree', { '2025-11': REASON }), DIFFERENT)).toMatchObject({ reason: REASON, due: [] });
  // Another difference is news.
  expect(compare(listOf('agree', { '2025-11': 'income: another' }), DIFFERENT).due).toEqual(WINDOWS.slice(1, 3));
});

test('a total that agrees, or agrees again, makes nothing due', () => {
  for (const before of [null, REASON])
    expect(compare(listOf('agree', { '2025-11': before }), EQUAL)).toMatchObject({ reason: null, due: [] });
});

test('before totals are trusted, one that agrees with a month that has rows makes them trusted, and one that differs makes nothing due', () => {
  expect(compare(listOf(null), EQUAL)).toMatchObject({
    due: [],
    observed: { trait: 'control totals', value: 'agree' },
  });
  expect(compare(listOf(null), DIFFERENT)).toMatchObject({ reason: REASON, due: [], observed: undefined });
  const empty = { said: { income: 0 }, stored: { income: '0' }, names: ['income'] };
  expect(compare(listOf(null), empty)).toMatchObject({ reason: null, observed: undefined });
});

test('a second month that differs shows that totals follow other rules', () => {
  const rules = { trait: 'control totals', value: 'other rules', evidence: REASON };
  expect(compare(listOf(null, { '2025-12': 'income: differs' }), DIFFERENT)).toMatchObject({
    due: [],
    observed: rules,
  });
  // The same month asked again is one month.
  expect(compare(listOf(null, { '2025-11': REASON }), DIFFERENT).observed).toBeUndefined();
  expect(compare(listOf(null, { '2025-12': null }), DIFFERENT).observed).toBeUndefined();
});

test('sums are compared to the cent, as numbers or text; an absent or non-numeric sum differs', () => {
  const reasonFor = (said: unknown, stored: Record<string, string>) =>
    compare(listOf('agree'), { said: { income: said }, stored, names: ['income'] }).reason;
  expect(reasonFor(0.1 + 0.2, { income: '0.30' })).toBeNull();
  expect(reasonFor('0.30', { income: '0.3' })).toBeNull();
  expect(reasonFor(0, {})).toBeNull();
  expect(reasonFor(0.31, { income: '0.30' })).toContain('the source says 0.31');
  for (const said of [undefined, null, 'none', {}]) expect(reasonFor(said, { income: '0' })).toContain('income');
});

test('in generated cases, windows become due exactly if trusted totals newly differ by a cent or more', () => {
  const cents = fc.integer({ min: -1000, max: 1000 });
  fc.assert(
    fc.property(cents, cents, fc.constantFrom(null, 'agree'), fc.boolean(), (said, stored, trust, knew) => {
      const text = (sum: number) => (sum / 100).toFixed(2);
      const totals = { said: { income: said / 100 }, stored: { income: text(stored) }, names: ['income'] };
      const reason = `income: the source says ${said / 100}, the rows sum up to ${text(stored)}`;
      const { due } = compare(listOf(trust, { '2025-11': knew ? reason : null }), totals);
      expect(due.length > 0).toBe(trust === 'agree' && said !== stored && !knew);
    }),
    { numRuns: 1000 },
  );
});
