import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { behindEnd, judgeEnd, type ListEnd } from '../../../src/engine/profile/list-end.ts';
import type { ListOrder } from '../../../src/engine/profile/observation.ts';

const ORDERS = ['id-desc', 'id-asc', 'updated-desc', 'none'] as const satisfies readonly ListOrder[];

/** What happens between two readings: rows come, and rows at these places of the list (0 to 1) leave or are edited. */
const rounds = fc.array(
  fc.record({
    come: fc.integer({ min: 0, max: 4 }),
    leave: fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { maxLength: 3 }),
    edit: fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { maxLength: 2 }),
    /** How many rows came before the last page is not known. */
    forgets: fc.boolean(),
    /** The answer lost this row, as a faulty one does; two answers in a row never do. */
    loses: fc.option(fc.double({ min: 0, max: 0.999, noNaN: true }), { freq: 4 }),
  }),
  { minLength: 1, maxLength: 30 },
);

interface Live {
  readonly id: number;
  /** The id at the source, which stays where an edit makes another row of one without an id. */
  readonly own: number;
  /** Counts inserts and edits. */
  readonly changedAt: number;
}

/** Ids in the order in which the source shows them. A fixed order of another kind is that of a hash, and an edit changes it. */
function inOrder(rows: readonly Live[], order: ListOrder): number[] {
  const rank = ({ own, changedAt }: Live) => {
    if (order === 'none') return ((own + 31 * changedAt) * 7919) % 1009;
    return order === 'updated-desc' ? -changedAt : order === 'id-asc' ? own : -own;
  };
  return [...rows].sort((a, b) => rank(a) - rank(b) || a.own - b.own).map(({ id }) => id);
}

/** Each order, as it shows by ids, and behind rows without ids. */
const SHOWN = ORDERS.flatMap(order => [
  { order, bare: false },
  { order, bare: true },
]);

describe('a list without a count', () => {
  test.each(SHOWN)(
    'that shows at most N rows loses no live row, and its end is never agreed while it hides one ($order, without ids: $bare)',
    ({ order, bare }) => {
      let deleted = 0;
      fc.assert(
        fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 60 }), rounds, (cap, size, all) => {
          let next = size + 1;
          let changes = size;
          const live: Live[] = Array.from({ length: size }, (_, index) => ({
            ...{ id: index + 1, own: index + 1, changedAt: index },
          }));
          const stored = new Set<number>();
          let missing = new Set<number>();
          let end: ListEnd | null = null;
          let lost = false;
          for (const { come, leave, edit, loses, forgets } of all) {
            for (let n = 0; n < come; n++, next++) live.push({ id: next, own: next, changedAt: changes++ });
            for (const place of edit)
              for (const row of live.splice(Math.floor(place * live.length), 1))
                live.push({ own: row.own, id: bare ? next++ : row.id, changedAt: changes++ });
            for (const place of leave) live.splice(Math.floor(place * live.length), 1);
            const shown = inOrder(live, order).slice(0, cap);
            lost = forgets ? lost : loses !== null && !lost && shown.length > 1;
            if (lost && !forgets) shown.splice(Math.floor((loses as number) * shown.length), 1);
            if (shown.length === 0) continue;
            for (const id of shown) stored.add(id);
            const lacked = [...stored].filter(id => !shown.includes(id)).map(String);
            const last = String(shown.at(-1));
            const reached = forgets
              ? { rows: null, last: '', counted: false }
              : { rows: shown.length, last, counted: false };
            const seen = bare ? 'none' : order;
            const behind = new Set(behindEnd(lacked, reached, seen));
            const judged = judgeEnd(end, reached, {
              order: seen,
              left: behind.size,
              newlyLacked: lacked.filter(key => !missing.has(Number(key))).length,
              half: 2 * lacked.length + 1 >= stored.size,
              mayCountTwice: bare,
              changedAt:
                seen === 'updated-desc' && !forgets ? live.find(({ id }) => String(id) === last)?.changedAt : undefined,
            });
            end = judged.end;
            // A second reading that lacks a row confirms its deletion; of one without an id, that the end is believed.
            const believed = lacked.filter(key => judged.believed || !behind.has(key)).map(Number);
            for (const id of believed.filter(each => bare || missing.has(each))) {
              // One faulty answer is enough to lose a row without an id, until the next shows it.
              if (!bare || !lost) expect(live.map(row => row.id)).not.toContain(id);
              stored.delete(id);
              deleted++;
            }
            missing = new Set(believed);
            const hidden = inOrder(live, order).slice(cap);
            // A faulty answer cannot be recognised by itself.
            if (end.verdict === 'agreed' && !lost && !forgets) expect(hidden.filter(id => !stored.has(id))).toEqual([]);
          }
        }),
        { numRuns: 2000 },
      );
      // Rows without ids leave only lists that became much shorter, which few cases do.
      if (!bare) expect(deleted).toBeGreaterThan(0);
    },
  );

  test('ends where it seems to once rows have come and its end stayed', () => {
    const first = judgeEnd(null, { rows: 300, last: '41', counted: false }, CONTEXT).end;
    expect(first.verdict).toBe('open');
    const again = judgeEnd(first, { rows: 300, last: '41', counted: false }, CONTEXT).end;
    expect(again.verdict).toBe('open');
    expect(judgeEnd(again, { rows: 303, last: '41', counted: false }, CONTEXT).end.verdict).toBe('agreed');
  });

  test('is cut where as many rows left its end as came', () => {
    const first = judgeEnd(null, { rows: 300, last: '41', counted: false }, CONTEXT).end;
    const second = judgeEnd(first, { rows: 300, last: '46', counted: false }, { ...CONTEXT, left: 5 });
    expect(second).toMatchObject({ believed: false, end: { verdict: 'cut', rows: 300 } });
    // Another answer of the same length shows nothing new.
    expect(judgeEnd(second.end, { rows: 300, last: '46', counted: false }, { ...CONTEXT, left: 5 }).end.verdict).toBe(
      'cut',
    );
    // A longer one shows that the cap is gone.
    expect(judgeEnd(second.end, { rows: 340, last: '6', counted: false }, CONTEXT).end.verdict).toBe('open');
  });

  test('that shows many rows less may be cut at its new length', () => {
    const before = judgeEnd(null, { rows: 340, last: '1', counted: false }, CONTEXT).end;
    const lowered = judgeEnd(before, { rows: 300, last: '41', counted: false }, { ...CONTEXT, left: 40 });
    expect(lowered).toMatchObject({ believed: false, end: { verdict: 'open', suspect: 300 } });
  });

  test('whose cap was lowered by a few rows loses no more than those', () => {
    const before = {
      ...judgeEnd(null, { rows: 63, last: '1', counted: false }, CONTEXT).end,
      verdict: 'agreed' as const,
    };
    const lowered = judgeEnd(before, { rows: 60, last: '4', counted: false }, { ...CONTEXT, left: 3, newlyLacked: 3 });
    expect(lowered.believed).toBe(true);
    const next = judgeEnd(
      lowered.end,
      { rows: 60, last: '7', counted: false },
      { ...CONTEXT, left: 3, newlyLacked: 3 },
    );
    expect(next).toMatchObject({ believed: false, end: { verdict: 'open', suspect: 60 } });
    const third = judgeEnd(next.end, { rows: 60, last: '10', counted: false }, { ...CONTEXT, left: 6, newlyLacked: 3 });
    expect(third).toMatchObject({ believed: false, end: { verdict: 'cut', rows: 60 } });
  });

  test('that lost many rows at once ends there after all, once rows have come and its end stayed', () => {
    const before = judgeEnd(null, { rows: 63, last: '1', counted: false }, CONTEXT).end;
    const purged = judgeEnd(
      before,
      { rows: 33, last: '31', counted: false },
      { ...CONTEXT, left: 30, newlyLacked: 30 },
    );
    expect(purged).toMatchObject({ believed: false, end: { verdict: 'open', suspect: 33 } });
    const left = { ...CONTEXT, left: 30, newlyLacked: 30 };
    const grown = judgeEnd(purged.end, { rows: 34, last: '31', counted: false }, left);
    expect(grown).toMatchObject({ believed: false, end: { verdict: 'open' } });
    const again = judgeEnd(grown.end, { rows: 35, last: '31', counted: false }, left);
    expect(again).toMatchObject({ believed: true, end: { verdict: 'agreed' } });
    // The reading that confirms the deletions lacks the same rows.
    const known = { ...CONTEXT, left: 30, newlyLacked: 0 };
    expect(judgeEnd(again.end, { rows: 35, last: '31', counted: false }, known).believed).toBe(true);
  });

  test.each(['updated-desc', 'none'] as const)('that is agreed loses a row for which another came (%s)', order => {
    const agreed: ListEnd = {
      ...{ verdict: 'agreed', rows: 28, longest: 28, suspect: null },
      ...{ last: '2', times: 3, changedAt: 1 },
    };
    const context = { ...CONTEXT, order, left: 1, newlyLacked: 1 };
    const reached = { rows: 28, last: '2', counted: false };
    expect(judgeEnd(agreed, reached, { ...context, changedAt: 1 })).toMatchObject({ believed: true });
    // The last row came back to the end by chance: a row may lie behind it.
    expect(judgeEnd(agreed, reached, { ...context, changedAt: 2 })).toMatchObject({
      believed: false,
      end: { verdict: 'open' },
    });
  });

  test('whose last row alone was deleted is believed, and agreed once a second answer is as short', () => {
    const before = judgeEnd(null, { rows: 30, last: '1', counted: false }, CONTEXT).end;
    const shorter = judgeEnd(before, { rows: 29, last: '2', counted: false }, { ...CONTEXT, left: 1, newlyLacked: 1 });
    expect(shorter).toMatchObject({ believed: true, end: { verdict: 'open' } });
    expect(judgeEnd(shorter.end, { rows: 29, last: '2', counted: false }, CONTEXT).end.verdict).toBe('agreed');
  });
});

test('a count agrees with the end, unless it stays the same while rows leave the end', () => {
  const first = judgeEnd(null, { rows: 1000, last: '41', counted: true }, CONTEXT);
  expect(first).toMatchObject({ believed: true, end: { verdict: 'agreed' } });
  const next = judgeEnd(first.end, { rows: 1003, last: '41', counted: true }, CONTEXT);
  expect(next.believed).toBe(true);
  const same = judgeEnd(next.end, { rows: 1003, last: '46', counted: true }, { ...CONTEXT, left: 5 });
  expect(same).toMatchObject({ believed: false, end: { verdict: 'cut', rows: 1003 } });
  expect(judgeEnd(same.end, { rows: 1002, last: '46', counted: true }, { ...CONTEXT, left: 5 }).believed).toBe(true);
});

const CONTEXT = { order: 'id-desc', left: 0, newlyLacked: 0, half: false, mayCountTwice: false } as const;
