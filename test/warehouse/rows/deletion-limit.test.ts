import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lossLimitOf } from '../../../src/engine/deletion/loss-limit.ts';
import { withinRowLossLimit } from '../../../src/warehouse/rows/delete-rows.ts';

test('the limit is a tenth of the rows, and at least twenty', () => {
  fc.assert(
    fc.property(fc.nat({ max: 10_000_000 }), rows => {
      const limit = lossLimitOf(rows);
      expect(limit).toBeGreaterThanOrEqual(20);
      expect(limit * 10).toBeLessThanOrEqual(Math.max(rows, 200));
      expect((limit + 1) * 10).toBeGreaterThan(rows);
    }),
  );
});

test.each([
  { why: 'at the limit', missing: 20, lost: 0, count: 20, accepted: 0, within: true },
  { why: 'one more', missing: 21, lost: 0, count: 21, accepted: 0, within: false },
  { why: 'few of many missing rows', missing: 21, lost: 0, count: 3, accepted: 0, within: false },
  { why: 'more than are marked missing', missing: 0, lost: 0, count: 21, accepted: 0, within: false },
  { why: 'rows lost before', missing: 6, lost: 15, count: 6, accepted: 0, within: false },
  { why: 'as many as were accepted', missing: 60, lost: 0, count: 60, accepted: 60, within: true },
  { why: 'one more than were accepted', missing: 61, lost: 0, count: 61, accepted: 60, within: false },
  {
    why: 'fewer than the limit, although fewer were accepted',
    missing: 5,
    lost: 0,
    count: 5,
    accepted: 1,
    within: true,
  },
])('$why: $within', ({ missing, lost, count, accepted, within }) => {
  expect(withinRowLossLimit({ missing, lost, limit: 20, stored: 1000, unsettled: count }, { count, accepted })).toBe(
    within,
  );
});

test.each([
  { why: 'less than half of a small list is left', missing: 3, lost: 0, stored: 5, unsettled: 3, within: false },
  { why: 'half of it is left', missing: 2, lost: 0, stored: 4, unsettled: 2, within: true },
  { why: 'the only row is gone', missing: 1, lost: 0, stored: 1, unsettled: 1, within: false },
  { why: 'other rows were lost today', missing: 3, lost: 4, stored: 6, unsettled: 3, within: false },
  { why: 'it has shown the same for long', missing: 3, lost: 0, stored: 5, unsettled: 0, within: true },
])('$why: $within', ({ within, ...limit }) => {
  expect(withinRowLossLimit({ ...limit, limit: 20 }, { count: limit.missing, accepted: 0 })).toBe(within);
  expect(withinRowLossLimit({ ...limit, limit: 20 }, { count: limit.missing, accepted: limit.missing })).toBe(true);
});
