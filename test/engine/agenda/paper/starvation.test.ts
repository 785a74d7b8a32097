import fc from 'fast-check';
import { expect, test } from 'vitest';
import customers from '../../../../jobs/customers.ts';
import invoices from '../../../../jobs/invoices.ts';
import transactions from '../../../../jobs/transactions.ts';
import { stampMs } from '../../../../src/clock.ts';
import { partition, watched } from '../../../../src/engine/coverage/list.ts';
import { type Slice, sliceText } from '../../../../src/engine/slices/slice.ts';
import { seeded } from '../seeded.ts';
import {
  longestWait,
  MOST_SWEEPS,
  type PaperList,
  type PaperPart,
  paperList,
  run,
  START,
  stampOf,
  sweepHours,
} from './paper-source.ts';

const anyParts: fc.Arbitrary<PaperPart[]> = fc.array(
  fc.record({
    rate: fc.oneof(
      fc.constant(0),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 10_000, noNaN: true }),
    ),
    requests: fc.integer({ min: 1, max: 10 }),
  }),
  { minLength: 1, maxLength: 8 },
);

/** No question waits longer than until it is overdue, and then until each other question was asked once. */
function mostHours(lists: readonly PaperList[], requestsAnHour: number): number {
  const once = lists.flatMap(({ facts }) => [...partition(facts.list), ...watched(facts.list)]);
  const requests = once.reduce((sum, entry) => sum + entry.requests, 0);
  return MOST_SWEEPS * sweepHours(lists, requestsAnHour) + requests / requestsAnHour;
}

test('nothing starves: every slice and every watched question is asked within five sweeps and one more, whatever the rates and costs', () => {
  fc.assert(
    fc.property(
      anyParts,
      anyParts,
      anyParts,
      fc.integer({ min: 10, max: 2000 }),
      fc.nat(),
      (a, b, c, requestsAnHour, seed) => {
        const lists = [
          paperList(customers, a, { order: 'id-desc' }),
          paperList(invoices, b, {}),
          paperList(transactions, c, { 'control totals': 'other rules' }),
        ];
        const asked = run(lists, { requestsAnHour, questions: 400, random: seeded(seed) });
        expect(longestWait(lists, asked)).toBeLessThanOrEqual(mostHours(lists, requestsAnHour) + 1e-6);
      },
    ),
    { numRuns: 12 },
  );
});

test('totals that agree do not keep the rows of their month from being read within that time', () => {
  const months = Array.from({ length: 10 }, () => ({ rate: 0, requests: 10 }));
  const parts = [{ rate: 2, requests: 1 }, ...months, { rate: 0, requests: 1 }];
  const lists = [paperList(transactions, parts, { 'control totals': 'agree' })];
  const asked = run(lists, { requestsAnHour: 60, questions: 800, random: seeded(1) });
  const totals = asked.filter(({ question }) => question.choice.slice.by === 'total');
  expect(totals.length).toBeGreaterThan(20);
  // Each month's total may be due as well, and leads to a reading that is counted with it.
  const ofTotals = Math.max(...totals.map(({ question }) => question.requests)) * months.length;
  expect(longestWait(lists, asked)).toBeLessThanOrEqual(mostHours(lists, 60) + ofTotals / 60);
});

test('a slice that lacked a row is read within that time, although the last of the others lacks another row each time', () => {
  const parts = Array.from({ length: 20 }, () => ({ rate: 0.1, requests: 1 }));
  const list = paperList(transactions, parts, { order: 'none', 'control totals': 'other rules' });
  const lacked = new Set<string>();
  const lose = (slice: string, at: number) => {
    lacked.add(slice);
    const row = { key: String(lacked.size), slice, since: stampOf(at), value: null };
    list.facts = { ...list.facts, missing: [...list.facts.missing, row] };
  };
  lose(sliceText(partition(list.facts.list)[5]?.slice as Slice), START);
  const asked = run([list], {
    requestsAnHour: 60,
    questions: 600,
    random: seeded(2),
    onAsked: ({ question, at }) => {
      const { missing } = list.facts;
      if (missing.length === 0 || question.choice.slice.by !== 'date') return;
      const from = Math.max(...missing.map(({ since }) => stampMs(since)));
      const others = partition(list.facts.list).filter(({ slice }) => !lacked.has(sliceText(slice)));
      const isLast = others.every(({ provenAt }) => (provenAt as number) > from);
      if (isLast && others.length > 1) lose(sliceText(question.choice.slice), at);
    },
  });
  expect(lacked.size).toBeGreaterThan(2);
  expect(longestWait([list], asked)).toBeLessThanOrEqual(mostHours([list], 60) + 1e-6);
});
