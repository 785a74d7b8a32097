import fc from 'fast-check';
import { expect, test } from 'vitest';
import { believed } from '../../../src/engine/deletion/lag.ts';

const LAG = 60_000;
const STORED_AT = 1_000_000;

test.each([
  { after: 0, isBelieved: false },
  { after: LAG - 1, isBelieved: false },
  { after: LAG, isBelieved: true },
])(
  'an answer asked for $after ms after a row was stored is believed to lack it: $isBelieved',
  ({ after, isBelieved }) => {
    const row = { key: '7', storedAt: STORED_AT };
    const result = believed([row], { at: STORED_AT + after, lagMs: LAG });
    expect(result).toEqual(
      isBelieved ? { lacked: [row], askAgainAt: null } : { lacked: [], askAgainAt: STORED_AT + LAG },
    );
  },
);

test('an answer asked for at askAgainAt is believed about every row', () => {
  const row = fc.record({ key: fc.string(), storedAt: fc.integer({ min: 0, max: 10 * LAG }) });
  fc.assert(
    fc.property(fc.array(row), fc.integer({ min: 0, max: 10 * LAG }), fc.nat(LAG), (rows, at, lagMs) => {
      const { lacked, askAgainAt } = believed(rows, { at, lagMs });
      expect(lacked.length === rows.length).toBe(askAgainAt === null);
      const again = believed(rows, { at: askAgainAt ?? at, lagMs });
      expect(again).toEqual({ lacked: rows, askAgainAt: null });
    }),
    { numRuns: 1000 },
  );
});
