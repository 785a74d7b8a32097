import fc from 'fast-check';
import { expect, test } from 'vitest';
import { collapses, isBeyondLimit, lossesOf } from '../../../src/engine/deletion/judge-loss.ts';
import { lossLimitOf } from '../../../src/engine/deletion/loss-limit.ts';
import type { Row } from '../../../src/warehouse/rows/write/row.ts';

const keysOf = (count: number) => Array.from({ length: count }, (_, n) => `${n}`);
const row = (key: string, amount: string | null, items: number): Row => ({
  ...{ key, values: { amount }, extra: null, hash: null, readAt: '2026-01-01 00:00:00+00' },
  children: { items: Array.from({ length: items }, () => ({ values: {}, extra: null })) },
});

test('what all answers together lose in a day without being held stays within the limit', () => {
  fc.assert(
    fc.property(
      fc.nat({ max: 5000 }),
      fc.array(fc.tuple(fc.integer({ min: 1, max: 200 }), fc.nat(500))),
      (stored, answers) => {
        let lost = 0;
        let held = 0;
        const limit = lossLimitOf(stored);
        for (const [count, shown] of answers) {
          if (collapses({ keys: keysOf(count), shown }) || isBeyondLimit(count, { held, lost, limit })) held += count;
          else lost += count;
        }
        expect(lost).toBeLessThanOrEqual(limit);
      },
    ),
  );
});

test('answers that empty a field in a third of the rows that have it collapse, unless that is four rows or fewer', () => {
  expect(collapses({ keys: keysOf(4), shown: 0 })).toBe(false);
  expect(collapses({ keys: keysOf(5), shown: 10 })).toBe(true);
  expect(collapses({ keys: keysOf(5), shown: 11 })).toBe(false);
  expect(collapses({ keys: keysOf(1), held: 4, shown: 10 })).toBe(true);
});

test('what is held counts against the limit until it is shown again', () => {
  expect(isBeyondLimit(4, { held: 12, lost: 10, limit: 26 })).toBe(false);
  expect(isBeyondLimit(4, { held: 13, lost: 10, limit: 26 })).toBe(true);
});

test('losses are counted by field, beside the rows that do have it', () => {
  const rows = [row('1', null, 2), row('2', '', 0), row('3', '7', 0), row('4', '0', 1)];
  const losing = new Map([
    ['1', ['amount']],
    ['2', ['amount', 'items']],
  ]);
  expect(lossesOf(rows, losing)).toEqual([
    { field: 'amount', keys: ['1', '2'], shown: 2 },
    { field: 'items', keys: ['2'], shown: 2 },
  ]);
});
