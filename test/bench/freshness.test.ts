import { describe, expect, test } from 'vitest';
import { figuresOf } from '../../bench/freshness/figures.ts';
import { coveredBy, createJudge } from '../../bench/freshness/judge.ts';
import { KINDS, LISTS, SIZES, START_MS, STREAM, type StreamParameters } from '../../bench/freshness/parameters.ts';
import { cellsOf } from '../../bench/freshness/policies/cells.ts';
import { evenSweep } from '../../bench/freshness/policies/even-sweep.ts';
import { lookBack } from '../../bench/freshness/policies/look-back.ts';
import { optimal } from '../../bench/freshness/policies/optimal.ts';
import { optimumOf } from '../../bench/freshness/policies/optimum.ts';
import { NEWEST, OLDEST, type Policy } from '../../bench/freshness/policy.ts';
import { applyChange, fillSource, MARK, MARKED } from '../../bench/freshness/product/source-rows.ts';
import { simulate } from '../../bench/freshness/simulate.ts';
import { flowsOf } from '../../bench/freshness/stream/flows.ts';
import { HABITS } from '../../bench/freshness/stream/habits.ts';
import { createRows, dayOfKey, keyOf } from '../../bench/freshness/stream/rows.ts';
import { type Change, createStream, type Stream } from '../../bench/freshness/stream/stream.ts';
import { DAY, HOUR } from '../../src/clock.ts';
import { dateOf } from '../../src/sandbox/data/calendar.ts';
import { createData } from '../../src/sandbox/data/data.ts';

const counts = SIZES.medium;
const NO_ROWS = {
  counts: { customers: 0, invoices: 0, transactions: 0 },
  moreStates: false,
  undated: false,
  beyondDouble: false,
  farDates: false,
};
const options = { counts, seed: 7, parameters: STREAM, startMs: START_MS };

describe('the stream', () => {
  test('the same seed gives the same changes, however often it is advanced', () => {
    const atOnce = createStream(options).advanceTo(START_MS + 3 * DAY);
    const hourly = createStream(options);
    const inSteps = Array.from({ length: 72 }, (_, hour) => hourly.advanceTo(START_MS + (hour + 1) * HOUR)).flat();
    expect(inSteps).toEqual(atOnce);
    expect(createStream({ ...options, seed: 8 }).advanceTo(START_MS + 3 * DAY)).not.toEqual(atOnce);
  });

  test('each kind of change occurs as often as its rate says', () => {
    const days = 200;
    const changes = createStream(options).advanceTo(START_MS + days * DAY);
    for (const { list, kind, perHour } of flowsOf(counts, STREAM)) {
      const expected = perHour * 24 * days;
      const found = changes.filter(change => change.list === list && change.kind === kind).length;
      // Five standard deviations. More invoices are open as back-dated ones come in, by 5%.
      const slack = kind === 'paid' ? 0.08 * expected : 0;
      expect(Math.abs(found - expected), `${list} ${kind}`).toBeLessThan(5 * Math.sqrt(expected) + slack + 1);
    }
  });

  test('edits hit young rows and rows of any age as configured, payments open invoices', () => {
    const changes = createStream(options).advanceTo(START_MS + 200 * DAY);
    const agesOf = (kind: string) =>
      changes.filter(change => change.kind === kind && change.list === 'invoices').map(ageDays);
    const share = (ages: number[], days: number) => ages.filter(age => age < days).length / ages.length;
    const edited = agesOf('edited');
    const expected = (days: number) => 0.75 * (1 - Math.exp(-days / 12)) + (0.25 * days) / 730;
    for (const days of [12, 60, 365]) expect(share(edited, days)).toBeCloseTo(expected(days), 1);
    const paid = agesOf('paid');
    expect(paid.reduce((sum, age) => sum + age, 0) / paid.length).toBeGreaterThan(15);
    expect(share(paid, 17.5)).toBeCloseTo(1 - Math.exp(-1), 1);
  });

  test('an invoice is paid once, and only rows that exist change', () => {
    const stream = createStream(options);
    const paid = new Set<number>();
    for (let day = 1; day <= 30; day++) {
      for (const { list, kind, id, place } of stream.advanceTo(START_MS + day * DAY)) {
        if (kind === 'paid') expect(paid.has(id)).toBe(false);
        if (kind === 'paid') paid.add(id);
        expect(dayOfKey(place)).toBeLessThanOrEqual(Math.floor((START_MS + day * DAY) / DAY));
        if (kind === 'deleted') expect(stream.rows[list].has(id)).toBe(false);
      }
    }
    expect(paid.size).toBeGreaterThan(300);
  });

  test('`times` only makes time pass faster', () => {
    const usual = createStream(options).advanceTo(START_MS + 10 * DAY);
    const faster = createStream({ ...options, parameters: { ...STREAM, times: 20 } }).advanceTo(START_MS + DAY / 2);
    const kinds = (changes: readonly Change[]) => changes.map(({ list, kind }) => `${list} ${kind}`);
    expect(kinds(faster)).toEqual(kinds(usual));
  });

  test('habits change the rates for their time', () => {
    const stream = createStream({ ...options, phases: HABITS, phasesFromMs: START_MS });
    const changes = stream.advanceTo(START_MS + 8 * DAY);
    const during = (name: string) => {
      const phase = HABITS.find(each => each.name === name) ?? { fromMs: 0, toMs: 0 };
      const within = changes.filter(({ at }) => at >= START_MS + phase.fromMs && at < START_MS + phase.toMs);
      return { n: within.length, perDay: (within.length * DAY) / (phase.toMs - phase.fromMs) };
    };
    expect(during('month-end').perDay).toBeGreaterThan(2.5 * during('usual').perDay);
    expect(during('quiet weekend').perDay).toBeLessThan(0.2 * during('usual').perDay);
    expect(during('import of old rows').n).toBeGreaterThan(4700);
    expect(during('mass edit').n).toBeGreaterThan(850);
  });
});

const ageDays = ({ at, place }: Change) => at / DAY - dayOfKey(place) - 0.5;

describe('the source of the product', () => {
  const tiny = { customers: 60, invoices: 600, transactions: 1200 };

  test('holds the rows of the stream after every change', () => {
    const stream = createStream({ ...options, counts: tiny, parameters: { ...STREAM, times: 20 } });
    const data = createData({ ...NO_ROWS, seed: 1, today: '2026-01-05' });
    fillSource(data, stream);
    const changes = stream.advanceTo(START_MS + 20 * DAY);
    for (const each of changes) applyChange(data, each);
    expect(new Set(changes.map(({ kind }) => kind)).size).toBe(KINDS.length);
    for (const list of LISTS) {
      const rows = stream.rows[list];
      expect(data[list].size).toBe(rows.size);
      for (const row of data[list].rows()) {
        expect(rows.has(row.id)).toBe(true);
        if ('date' in row) expect(row.date).toBe(dateOf(rows.dayOf(row.id)));
        if ('status' in row) expect(row.status).toBe(stream.open.has(row.id) ? 'Unpaid' : 'Paid');
        const mark = (row as unknown as Record<string, unknown>)[MARKED[list]];
        const version = stream.versionOf(list, row.id);
        expect(mark).toBe(version === 0 ? null : `${MARK}${version}`);
      }
    }
  });
});

describe('rows of a list', () => {
  test('are in order of date, then id, also after rows came in late, moved or left', () => {
    const rows = createRows([10, 10, 11, 13]);
    const late = rows.insert(10);
    rows.move(1, 13);
    rows.remove(3);
    expect(rows.between(OLDEST, NEWEST, 10)).toEqual([2, late, 1, 4]);
    expect([0, 1, 2, 3].map(position => rows.at(position))).toEqual([4, 1, late, 2]);
    expect(rows.between(keyOf(10, 3), keyOf(13, 4), 10)).toEqual([late, 1]);
    expect(rows.between(OLDEST, NEWEST, 2)).toEqual([2, late]);
    expect([rows.size, rows.has(3), rows.dayOf(1)]).toEqual([4, false, 13]);
  });
});

describe('the judge', () => {
  const change = (number: number, kind: Change['kind'], id: number, day = 5): Change => ({
    number,
    at: number * HOUR,
    list: 'invoices',
    kind,
    id,
    place: keyOf(day, id),
  });
  const everything = { from: OLDEST, to: NEWEST };
  const judgeOf = (lacks = 1) => createJudge({ customers: lacks, invoices: lacks, transactions: lacks });
  const seen = (judge: ReturnType<typeof judgeOf>) =>
    judge.outcomes().map(({ change, seenAt }) => [change.number, seenAt === null ? null : seenAt / HOUR]);

  test('a change is seen when its row is first shown after it', () => {
    const judge = judgeOf();
    judge.happened(change(1, 'new', 1));
    judge.read('invoices', everything, [{ id: 1 }], 2 * HOUR);
    judge.happened(change(3, 'edited', 1));
    judge.happened(change(4, 'paid', 1));
    judge.read('transactions', everything, [{ id: 1 }], 5 * HOUR);
    judge.read('invoices', everything, [{ id: 2 }], 6 * HOUR);
    expect(judge.pending).toBe(1);
    judge.read('invoices', everything, [{ id: 1 }], 7 * HOUR);
    expect(seen(judge)).toEqual([
      [1, 2],
      [3, 7],
      [4, 7],
    ]);
  });

  test('a deletion is seen when enough readings of its place lacked the row', () => {
    const judge = judgeOf(2);
    judge.happened(change(1, 'deleted', 1, 5));
    judge.read('invoices', { from: keyOf(6, 0), to: NEWEST }, [], 2 * HOUR);
    judge.read('invoices', { from: OLDEST, to: keyOf(5, 1) }, [], 3 * HOUR);
    judge.read('invoices', everything, [], 4 * HOUR);
    expect(seen(judge)).toEqual([[1, null]]);
    judge.read('invoices', { from: keyOf(5, 1), to: keyOf(5, 2) }, [], 5 * HOUR);
    expect(seen(judge)).toEqual([[1, 5]]);
  });

  test('a deletion is never seen by a copy that deletes nothing', () => {
    const judge = judgeOf(Number.POSITIVE_INFINITY);
    judge.happened(change(1, 'deleted', 1));
    for (let hour = 2; hour < 9; hour++) judge.read('invoices', everything, [], hour * HOUR);
    expect(seen(judge)).toEqual([[1, null]]);
  });

  test('a copy that shows an older version has not seen the later changes', () => {
    const judge = judgeOf();
    judge.happened(change(1, 'edited', 1));
    judge.happened(change(2, 'paid', 1));
    judge.shown('invoices', 1, 3 * HOUR, 1);
    judge.shown('invoices', 1, 4 * HOUR, 2);
    expect(seen(judge)).toEqual([
      [1, 3],
      [2, 4],
    ]);
  });

  test('what nobody can see is left out: a row that was deleted before it was shown, an edit of a deleted row', () => {
    const judge = judgeOf();
    judge.happened(change(1, 'new', 1));
    judge.happened(change(2, 'deleted', 1));
    judge.happened(change(3, 'edited', 2));
    judge.happened(change(4, 'deleted', 2));
    judge.gone('invoices', 2, 5 * HOUR);
    expect(seen(judge)).toEqual([[4, 5]]);
  });

  test('a deletion after the measured time takes back what was not shown, and is not judged', () => {
    const measured = { measuredFromMs: 0, measuredToMs: 2 * HOUR };
    const judge = createJudge({ customers: 1, invoices: 1, transactions: 1 }, measured);
    judge.happened(change(1, 'new', 1));
    judge.happened(change(1.5, 'new', 2));
    judge.happened(change(3, 'deleted', 1));
    judge.happened(change(4, 'new', 3));
    judge.read('invoices', everything, [{ id: 2 }, { id: 3 }], 5 * HOUR);
    expect(seen(judge)).toEqual([[1.5, 5]]);
  });

  test('a page covers its range up to the next page', () => {
    expect(coveredBy({ list: 'invoices', from: 10, to: NEWEST }, 20)).toEqual({ from: 10, to: 20 });
    expect(coveredBy({ list: 'invoices', from: 10, to: NEWEST }, null)).toEqual({ from: 10, to: NEWEST });
  });

  test('unseen changes count with the time until the end', () => {
    const outcomes = [
      { change: change(1, 'new', 1), seenAt: 2 * HOUR },
      { change: change(2, 'new', 2), seenAt: 5 * HOUR },
      { change: change(3, 'new', 3), seenAt: null },
    ];
    expect(figuresOf(outcomes, 11 * HOUR)).toEqual({ n: 3, mean: 4, median: 3, p99: 8, worst: 8, unseen: 1 });
  });
});

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
