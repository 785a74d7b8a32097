import { expect, test } from 'vitest';
import { DAY } from '../../../src/clock.ts';
import { monthsHold, type NamedList } from '../../../src/engine/agenda/past-months.ts';
import { monthly } from '../../../src/engine/job.ts';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../../src/engine/profile/strategy.ts';
import { parseSlice, type Slice, sliceText } from '../../../src/engine/slices/slice.ts';
import { JOBS, type TestResource } from '../../support/resources.ts';

const NOW = Date.parse('2026-01-15T10:00:00Z');

/** A list whose parts were read so many days ago; null: never. */
function listOf(name: TestResource, parts: Readonly<Record<string, number | null>>): NamedList {
  const profile = profileOf([]);
  const entryOf = (slice: Slice, ago: number | null) => {
    const at = ago === null ? null : NOW - ago * DAY;
    const history = { changed: 0, hoursWatched: 0, dueSince: null, dueReason: null };
    return { slice, provenAt: at, readAt: at, requests: 1, rows: 5, ...history };
  };
  const entries = Object.entries(parts).map(([text, ago]) => [text, entryOf(parseSlice(text), ago)] as const);
  const job = JOBS[name];
  return { name, job, profile, strategy: strategyFor(profile, job), entries: new Map(entries), total: undefined };
}

const report = (ago: number | null) => listOf('financial_summaries', { [sliceText({ by: 'whole' })]: ago });
const transactions = listOf('transactions', { 'date ..': 20 });
const invoices = listOf('invoices', { 'date ..2024-12-31': 20, 'date 2025-01-01..': 0 });

test('past months hold for four weeks after all of them were read', () => {
  expect(monthsHold(report(27), [transactions, invoices], NOW)).toBe(true);
  expect(monthsHold(report(28), [transactions, invoices], NOW)).toBe(false);
  expect(monthsHold(report(null), [transactions, invoices], NOW)).toBe(false);
});

test('past months do not hold while changes of the rows that they sum up may be unknown', () => {
  expect(monthsHold(report(1), [transactions], NOW)).toBe(false);
  const partly = listOf('invoices', { 'date ..2024-12-31': null, 'date 2025-01-01..': 0 });
  expect(monthsHold(report(1), [transactions, partly], NOW)).toBe(false);
});

test('nothing holds in a report that does not say what it sums up, nor in any other list', () => {
  const silent = report(1);
  const slicings = [monthly({ query: () => ({}), fields: () => ({}) })];
  expect(monthsHold({ ...silent, job: { ...silent.job, slicings } }, [transactions, invoices], NOW)).toBe(false);
  expect(monthsHold(transactions, [transactions, invoices], NOW)).toBe(false);
});
