import fc from 'fast-check';
import { expect, test } from 'vitest';
import { believed } from '../../../src/engine/deletion/lag.ts';

const LAG = 60_000;
const FIRST_PROVEN = 1_000_000;

test.each([
  {
    storedAt: FIRST_PROVEN - 1,
    after: 5,
    firstProvenAt: FIRST_PROVEN,
    isBelieved: true,
    why: 'from before the first proof',
  },
  {
    storedAt: FIRST_PROVEN + 1,
    after: LAG - 1,
    firstProvenAt: FIRST_PROVEN,
    isBelieved: false,
    why: 'younger than the lag',
  },
  { storedAt: FIRST_PROVEN + 1, after: LAG, firstProvenAt: FIRST_PROVEN, isBelieved: true, why: 'as old as the lag' },
  {
    storedAt: FIRST_PROVEN + 1,
    after: 5,
    firstProvenAt: null,
    isBelieved: true,
    why: 'of a list that was never proven',
  },
])('the absence of a row $why: believed is $isBelieved', ({ storedAt, after, firstProvenAt, isBelieved }) => {
  const row = { key: '7', storedAt };
  const result = believed([row], { at: storedAt + after, lagMs: LAG, firstProvenAt });
  expect(result).toEqual(isBelieved ? { lacked: [row], askAgainAt: null } : { lacked: [], askAgainAt: storedAt + LAG });
});

test('an answer asked for at askAgainAt is believed about every row', () => {
  const row = fc.record({ key: fc.string(), storedAt: fc.integer({ min: 0, max: 10 * LAG }) });
  fc.assert(
    fc.property(fc.array(row), fc.integer({ min: 0, max: 10 * LAG }), fc.nat(LAG), (rows, at, lagMs) => {
      const { lacked, askAgainAt } = believed(rows, { at, lagMs, firstProvenAt: 0 });
      expect(lacked.length === rows.length).toBe(askAgainAt === null);
      const again = believed(rows, { at: askAgainAt ?? at, lagMs, firstProvenAt: 0 });
      expect(again).toEqual({ lacked: rows, askAgainAt: null });
    }),
    { numRuns: 2000 },
  );
});
