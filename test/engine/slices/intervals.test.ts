import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addressFor, byIds, isId, openAtLast, subtract } from '../../../src/engine/slices/id-ranges.ts';
import type { IdSlice } from '../../../src/engine/slices/slice.ts';

const ends = fc.option(fc.bigInt({ min: -30n, max: 30n }), { freq: 3 });
const interval = fc.tuple(ends, ends).map(
  ([a, b]): IdSlice => ({
    by: 'id',
    from: a !== null && b !== null && a > b ? b : a,
    to: a !== null && b !== null && a > b ? a : b,
  }),
);
const contains = (slice: IdSlice, id: bigint) =>
  (slice.from === null || slice.from <= id) && (slice.to === null || id <= slice.to);

test('the parts beside a hole are the slice without the hole, each id once', () => {
  fc.assert(
    fc.property(interval, interval, fc.bigInt({ min: -40n, max: 40n }), (slice, hole, id) => {
      const parts = subtract(slice, hole);
      for (const part of parts) if (part.from !== null && part.to !== null) expect(part.from <= part.to).toBe(true);
      const holding = parts.filter(part => contains(part, id)).length;
      expect(holding).toBe(contains(slice, id) && !contains(hole, id) ? 1 : 0);
    }),
    { numRuns: 1000 },
  );
});

test('readings in any order leave a partition of all ids, without gap or overlap', () => {
  fc.assert(
    fc.property(fc.array(interval, { maxLength: 12 }), readings => {
      let pieces: IdSlice[] = [{ by: 'id', from: null, to: null }];
      for (const read of readings) pieces = [...pieces.flatMap(piece => subtract(piece, read)), read];
      const sorted = [...pieces].sort(byIds(false));
      expect(sorted[0]?.from).toBeNull();
      expect(sorted.at(-1)?.to).toBeNull();
      for (const [index, piece] of sorted.entries()) {
        const next = sorted[index + 1];
        if (next) expect(next.from).toBe((piece.to as bigint) + 1n);
      }
      expect([...pieces].sort(byIds(true))).toEqual(sorted.reverse());
    }),
    { numRuns: 500 },
  );
});

test('a page address always covers the wanted offset, and exceeds the page size only where every smaller page ends there', () => {
  fc.assert(
    fc.property(fc.nat({ max: 1_000_000 }), fc.integer({ min: 1, max: 1000 }), (offset, size) => {
      const { page, limit } = addressFor(offset, size);
      expect((page - 1) * limit <= offset && offset < page * limit).toBe(true);
      if (limit > size) for (let each = 1; each <= size; each++) expect((offset + 1) % each).toBe(0);
      if (limit < Math.floor(size * 0.8)) expect((offset + 1) % size).toBe(0);
    }),
    { numRuns: 1000 },
  );
});

test('a page covers more than the row it is requested for, so even a chain of small pages advances', () => {
  for (let size = 1; size <= 20; size++)
    for (let offset = 0; offset < 3000; offset++) {
      const { page, limit } = addressFor(offset, size);
      expect(page * limit - offset).toBeGreaterThan(1);
    }
});

test('a chain of answers that overlap by one row rereads less than a fifth of its rows', () => {
  fc.assert(
    fc.property(fc.nat({ max: 200_000 }), fc.constantFrom(50, 100, 250, 500, 1000), (start, size) => {
      let at = start;
      for (let pages = 0; pages < 50; pages++) {
        const { page, limit } = addressFor(at, size);
        at = page * limit - 1;
      }
      expect(at - start).toBeGreaterThan(50 * size * 0.8);
    }),
    { numRuns: 300 },
  );
});

test('nothing lies beyond the ids that Postgres holds', () => {
  const last = 2n ** 63n - 1n;
  const all: IdSlice = { by: 'id', from: null, to: null };
  expect(subtract(all, { by: 'id', from: 5n, to: last })).toEqual([{ by: 'id', from: null, to: 4n }]);
  expect(subtract(all, { by: 'id', from: -last - 1n, to: 5n })).toEqual([{ by: 'id', from: 6n, to: null }]);
  expect(openAtLast(last)).toBeNull();
  expect(openAtLast(last - 1n)).toBe(last - 1n);
  expect(['0', '17', String(last), String(last + 1n), '12345678901234567890', '-1', '1e3'].map(isId)).toEqual([
    ...[true, true, true],
    ...[false, false, false, false],
  ]);
});
