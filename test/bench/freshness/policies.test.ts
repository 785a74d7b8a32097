import { describe, expect, test } from 'vitest';
import { figuresOf } from '../../../bench/freshness/figures.ts';
import { SIZES, START_MS, STREAM, type StreamParameters } from '../../../bench/freshness/parameters.ts';
import { cellsOf } from '../../../bench/freshness/policies/cells.ts';
import { evenSweep } from '../../../bench/freshness/policies/even-sweep.ts';
import { lookBack } from '../../../bench/freshness/policies/look-back.ts';
import { optimal } from '../../../bench/freshness/policies/optimal.ts';
import { optimumOf } from '../../../bench/freshness/policies/optimum.ts';
import type { Policy } from '../../../bench/freshness/policy.ts';
import { simulate } from '../../../bench/freshness/simulate.ts';
import { dayOfKey } from '../../../bench/freshness/stream/rows.ts';
import { type Change, createStream, type Stream } from '../../../bench/freshness/stream/stream.ts';
import { DAY } from '../../../src/clock.ts';

describe('the optimum', () => {
  test('the interval of a page grows with the square root of its cost, and shrinks with that of its rate', () => {
    const { intervals, meanDelay } = optimumOf(
      [
        { rate: 4, cost: 1 },
        { rate: 1, cost: 1 },
        { rate: 1, cost: 4 },
        { rate: 0, cost: 1 },
      ],
      10,
    );
    const [often, seldom, costly, never] = intervals as [number, number, number, number];
    expect(seldom / often).toBeCloseTo(2);
    expect(costly / seldom).toBeCloseTo(2);
    expect(never).toBe(Number.POSITIVE_INFINITY);
    expect(1 / often + 1 / seldom + 4 / costly).toBeCloseTo(10);
    expect(meanDelay).toBeCloseTo((4 * (often / 2) + seldom / 2 + costly / 2) / 6);
  });

  test('no other intervals on the same budget have a smaller mean delay', () => {
    const cells = Array.from({ length: 20 }, (_, index) => ({ rate: 1 / (index + 1) ** 2, cost: 1 + (index % 3) }));
    const delay = (intervals: readonly number[]) => {
      const spent = cells.reduce((sum, { cost }, index) => sum + cost / (intervals[index] as number), 0);
      const scaled = intervals.map(interval => (interval * spent) / 50);
      const rates = cells.reduce((sum, { rate }) => sum + rate, 0);
      return cells.reduce((sum, { rate }, index) => sum + (rate * (scaled[index] as number)) / 2, 0) / rates;
    };
    const { intervals, meanDelay } = optimumOf(cells, 50);
    expect(delay(intervals)).toBeCloseTo(meanDelay);
    for (let index = 0; index < cells.length; index++)
      for (const factor of [0.8, 1.25])
        expect(delay(intervals.map((each, at) => (at === index ? each * factor : each)))).toBeGreaterThan(meanDelay);
  });

  test('comes near the figures known for the three sizes', () => {
    const delays = Object.values(SIZES).map(each => optimumOf(cellsOf(each, STREAM), 1000).meanDelay);
    for (const [index, known] of [0.033, 0.1, 1.08].entries())
      expect(Math.abs(Math.log((delays[index] as number) / known))).toBeLessThan(Math.log(1.3));
  });
});

describe('policies on paper', () => {
  const small = { customers: 200, invoices: 2000, transactions: 4000 };
  // Many edits, so that a few days show a mean.
  const lively = (list: 'customers' | 'invoices' | 'transactions', editedPerMonth: number) => ({
    ...STREAM.lists[list],
    editedPerMonth,
  });
  const parameters: StreamParameters = {
    ...STREAM,
    lists: {
      customers: lively('customers', 0.5),
      invoices: lively('invoices', 2),
      transactions: lively('transactions', 2),
    },
  };
  const stream = { counts: small, seed: 3, parameters, startMs: START_MS };
  const requestsPerHour = 100;
  const play = (create: (stream: Stream) => Policy, days: number) => {
    const opened = createStream(stream);
    const measuredFromMs = START_MS + DAY;
    const measuredToMs = measuredFromMs + days * DAY;
    const run = { startMs: START_MS, measuredFromMs, measuredToMs, endMs: measuredToMs + DAY, requestsPerHour };
    const result = simulate(create(opened), opened, run);
    return { ...result, figures: figuresOf(result.outcomes, result.endMs) };
  };

  test('the simulated optimum has the mean delay that the formula gives', () => {
    const { figures, requests } = play(({ rows }) => optimal({ rows, stream, requestsPerHour }), 20);
    const { meanDelay } = optimumOf(cellsOf(small, parameters, 11 * 24), requestsPerHour);
    expect(figures.n).toBeGreaterThan(5000);
    expect(figures.unseen).toBe(0);
    expect(Math.abs(figures.mean / meanDelay - 1)).toBeLessThan(0.03);
    expect(requests / (20 * 24 * requestsPerHour)).toBeGreaterThan(0.97);
  });

  test('an even sweep shows a change after half a sweep, and a deletion after one and a half', () => {
    const { figures, outcomes, endMs, requests } = play(() => evenSweep(requestsPerHour), 10);
    const of = (deleted: boolean) =>
      figuresOf(
        outcomes.filter(({ change }) => (change.kind === 'deleted') === deleted),
        endMs,
      ).mean;
    const sweepHours = 64 / requestsPerHour;
    expect(of(false) / (sweepHours / 2)).toBeGreaterThan(0.95);
    expect(of(false) / (sweepHours / 2)).toBeLessThan(1.05);
    expect(of(true) / of(false)).toBeGreaterThan(2);
    expect(figures.unseen).toBe(0);
    expect(requests).toBe(10 * 24 * requestsPerHour);
  });

  test('a look-back sees no old change and no deletion', () => {
    const { outcomes } = play(lookBack, 10);
    const dated = outcomes.filter(({ change }) => change.list !== 'customers');
    const age = (change: Change) => change.at / DAY - dayOfKey(change.place);
    for (const { change, seenAt } of dated) {
      if (change.kind === 'deleted' || age(change) > 31) expect(seenAt).toBeNull();
      else if (age(change) < 29) expect(seenAt).not.toBeNull();
    }
    expect(dated.filter(({ seenAt }) => seenAt === null).length).toBeGreaterThan(20);
  });
});
