import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mayBeCutByWeight, observeWeight, weightOf } from '../../../src/engine/profile/answer-weight.ts';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';

const rowsOf = (count: number, bytes: number, lines = 0) =>
  Array.from({ length: count }, (_, id) => ({ id: 1000 + id, text: 'x'.repeat(bytes), items: Array(lines).fill(1) }));

/** What a profile knows after an answer of these rows. */
const after = (rows: readonly unknown[]) => profileOf(observeWeight(new Map(), 'date', weightOf(rows))).longest;

const isDoubted = (longest: ReadonlyMap<string, number>, rows: readonly unknown[]) =>
  mayBeCutByWeight(longest, 'date', weightOf(rows));

test('an answer is believed only if another was heavier, by more than a row', () => {
  const most = rowsOf(100, 200);
  expect(isDoubted(after(most), most)).toBe(true);
  expect(isDoubted(after(most), most.slice(0, 99))).toBe(true);
  expect(isDoubted(after(most), most.slice(0, 85))).toBe(false);
});

test('fewer rows are doubted if they have as many lines', () => {
  const most = rowsOf(300, 200, 1);
  expect(isDoubted(after(most), rowsOf(50, 10, 6))).toBe(true);
  expect(isDoubted(after(most), rowsOf(40, 10, 6))).toBe(false);
});

test('a row without lines counts as one where others have some', () => {
  const rows = [...rowsOf(10, 10, 3), ...rowsOf(10, 10)];
  expect(weightOf(rows).all.lines).toBe(40);
  expect(weightOf(rowsOf(10, 10)).all.lines).toBe(0);
  expect(weightOf(rowsOf(200_000, 1)).heaviest.lines).toBe(0);
});

test('a light answer is not doubted', () => {
  expect(isDoubted(new Map(), rowsOf(19, 20, 1))).toBe(false);
});

test('whatever the limit and the rows, an answer that it cuts off is doubted once another was cut off', () => {
  const sizes = fc.array(fc.integer({ min: 100, max: 900 }), { minLength: 400, maxLength: 450 });
  fc.assert(
    fc.property(sizes, fc.integer({ min: 11_000, max: 30_000 }), (bytes, limit) => {
      const rows = bytes.map(length => ({ text: 'x'.repeat(length) }));
      const cutOff = (all: readonly object[]) => {
        let sent = 0;
        const end = all.findIndex(row => {
          sent += JSON.stringify(row).length;
          return sent > limit;
        });
        return all.slice(0, end);
      };
      const [first, second] = [cutOff(rows), cutOff(rows.slice(150))];
      expect(isDoubted(after(first), second)).toBe(true);
      expect(isDoubted(after(second), first)).toBe(true);
    }),
  );
});
