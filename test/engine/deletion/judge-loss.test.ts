import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isHeld, lossesOf } from '../../../src/engine/deletion/judge-loss.ts';
import { lossLimitOf } from '../../../src/engine/deletion/loss-limit.ts';
import type { Row } from '../../../src/warehouse/rows/write-rows.ts';

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
          if (isHeld({ keys: keysOf(count), shown }, { held, lost, limit }, false)) held += count;
          else lost += count;
        }
        expect(lost).toBeLessThanOrEqual(limit);
      },
    ),
  );
});

test('what is accepted is never held', () => {
  fc.assert(
    fc.property(fc.nat(500), fc.nat(500), fc.nat(500), fc.nat(500), (count, shown, held, lost) => {
      expect(isHeld({ keys: keysOf(count), shown }, { held, lost, limit: 20 }, true)).toBe(false);
    }),
  );
});

test('an answer that empties a field in a third of the rows that have it is held, unless it is about four rows or fewer', () => {
  const limit = { held: 0, lost: 0, limit: 1000 };
  expect(isHeld({ keys: keysOf(4), shown: 0 }, limit, false)).toBe(false);
  expect(isHeld({ keys: keysOf(5), shown: 10 }, limit, false)).toBe(true);
  expect(isHeld({ keys: keysOf(5), shown: 11 }, limit, false)).toBe(false);
});

test('what is held counts against the limit until it is shown again', () => {
  const few = { keys: keysOf(4), shown: 96 };
  expect(isHeld(few, { held: 16, lost: 10, limit: 26 }, false)).toBe(false);
  expect(isHeld(few, { held: 17, lost: 10, limit: 26 }, false)).toBe(true);
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
