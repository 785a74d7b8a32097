import fc from 'fast-check';
import { expect, test } from 'vitest';
import customers from '../../../jobs/customers.ts';
import financialSummaries from '../../../jobs/financial_summaries.ts';
import invoices from '../../../jobs/invoices.ts';
import orders from '../../../jobs/orders.ts';
import transactions from '../../../jobs/transactions.ts';
import type { Job } from '../../../src/engine/job.ts';
import type { Observation } from '../../../src/engine/profile/observation.ts';
import { sortKeys } from '../../../src/engine/profile/observe-order.ts';
import { profileOf, UNKNOWN, withObservation } from '../../../src/engine/profile/source-profile.ts';
import { narrowEdges, strategyFor } from '../../../src/engine/profile/strategy.ts';
import { parseSlice, sliceText } from '../../../src/engine/slices/slice.ts';

const strategyOf = (job: Job, traits: Record<string, string> = {}) =>
  strategyFor(profileOf(Object.entries(traits).map(([trait, value]) => ({ trait, value }))), job);

test.each<[string, Job, Record<string, string>, string]>([
  ['by its dates, where it can be asked for them', transactions, {}, 'date'],
  ['by its ids, where it has no dates', customers, {}, 'id'],
  ['by its ids, where the date filter is ignored', transactions, { 'date filter': 'ignored' }, 'id'],
  ['by its ids, where rows do not show their date', invoices, { dates: 'no' }, 'id'],
  [
    'by its windows, where rows neither show their date nor come in order',
    invoices,
    { dates: 'no', order: 'none' },
    'date',
  ],
  ['by its ids, where some rows have no date', transactions, { undated: 'yes' }, 'id'],
  [
    'by its dates even so, where one answer is cut short',
    transactions,
    { undated: 'yes', paging: 'ignored', 'one answer': 'cut' },
    'date',
  ],
  ['as a whole, where it comes in no order', customers, { order: 'none' }, 'whole'],
  ['as a whole, where it is one body', customers, { paging: 'ignored' }, 'whole'],
  [
    'as a whole, where pages neither overlap nor are counted',
    customers,
    { paging: 'until empty', limit: 'ignored' },
    'whole',
  ],
  ['as a whole, where it is summed up by month', financialSummaries, {}, 'whole'],
])('a list is cut %s', (_how, job, traits, partition) => {
  expect(strategyOf(job, traits).partition).toBe(partition);
});

test('windows replace dates only if rows hide their date and the list is cut by windows', () => {
  expect(strategyOf(invoices, { dates: 'no', order: 'none' }).membership).toBe('window');
  expect(strategyOf(invoices, { dates: 'no' }).membership).toBe('date');
  expect(strategyOf(invoices).membership).toBe('date');
});

test('an edge of a window is not padded once the source was seen to include it, unless the window is long and a day costs little', () => {
  const month = parseSlice('date 2025-03-01..2025-03-10') as never;
  const year = parseSlice('date 2025-01-01..2025-12-31') as never;
  const both = strategyOf(transactions, { 'date from': 'inclusive', 'date to': 'inclusive' });
  expect(narrowEdges(both, month)).toEqual(['date from', 'date to']);
  expect(narrowEdges(both, year)).toEqual([]);
  expect(narrowEdges(both, year, ['date to'])).toEqual(['date to']);
  expect(narrowEdges(strategyOf(transactions, { 'date from': 'inclusive', 'date to': 'in doubt' }), month)).toEqual([
    'date from',
  ]);
  expect(narrowEdges(strategyOf(transactions), month)).toEqual([]);
});

test('the newest end is read where the cover does not include it, and values only while their filter works', () => {
  const texts = (job: Job, traits = {}) => strategyOf(job, traits).watched.map(sliceText);
  expect(texts(invoices)).toEqual(['newest', 'status=Unpaid', 'status=Partially Paid']);
  expect(texts(invoices, { 'filter status': 'ignored' })).toEqual(['newest']);
  expect(texts(customers)).toEqual([]);
  expect(texts(orders, { order: 'none' })).toEqual(['newest']);
});

const anyObservation: fc.Arbitrary<Observation> = fc.constantFrom<Observation>(
  { trait: 'order', value: 'id-asc', evidence: '' },
  { trait: 'paging', value: 'ignored', evidence: '' },
  { trait: 'paging', value: 'until empty', evidence: '' },
  { trait: 'page size', value: '50', evidence: '' },
  { trait: 'goes beyond', value: '100', evidence: '' },
  { trait: 'dates', value: 'no', evidence: '' },
  { trait: 'date to', value: 'in doubt', evidence: '' },
  { trait: 'filter status', value: 'ignored', evidence: '' },
  { trait: 'filter customer_id', value: 'ignored', evidence: '' },
);

test('in 10,000 sequences of observations, a repeated observation changes nothing', () => {
  fc.assert(
    fc.property(fc.array(anyObservation), anyObservation, (before, last) => {
      const profile = withObservation(profileOf(before), last);
      expect(withObservation(profile, last)).toBe(profile);
      expect(profileOf([...before, last])).toEqual(profile);
    }),
    { numRuns: 1000 },
  );
});

test('a trait that this version does not know leaves the profile as it is', () => {
  expect(profileOf([{ trait: 'moon', value: 'full' }])).toBe(UNKNOWN);
});

test('a field that no job declares may order a list, too, until its values were seen in no order', () => {
  const inOrder = { order: 'id-desc', edits: 'in place' };
  const declared = sortKeys({ drift: null }, orders).join();
  const drift = JSON.stringify({ learningSince: null, unknown: { pinned: null, 'items.note': null }, vanished: {} });
  const confirmed = (extra: Record<string, string>) => strategyOf(orders, { ...inOrder, ...extra }).confirmation;
  expect(confirmed({ 'not ordered by': declared })).toBe('neighbours');
  expect(confirmed({ 'not ordered by': declared, drift })).toBe('cover');
  expect(confirmed({ 'not ordered by': `${declared},pinned`, drift })).toBe('neighbours');
});
