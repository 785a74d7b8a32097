import { describe, expect, test } from 'vitest';
import { figuresOf } from '../../../bench/freshness/figures.ts';
import { coveredBy, createJudge } from '../../../bench/freshness/judge.ts';
import { NEWEST, OLDEST } from '../../../bench/freshness/policy.ts';
import { keyOf } from '../../../bench/freshness/stream/rows.ts';
import type { Change } from '../../../bench/freshness/stream/stream.ts';
import { HOUR } from '../../../src/clock.ts';

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
