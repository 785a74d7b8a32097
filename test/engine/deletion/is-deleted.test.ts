import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isDeleted,
  type Lack,
  type ListClaims,
  lacksHalf,
  type RowClaims,
} from '../../../src/engine/deletion/is-deleted.ts';
import type { Confirmation, Strategy } from '../../../src/engine/profile/strategy.ts';
import { parseSlice, type Slice } from '../../../src/engine/slices/slice.ts';

const strategy = (confirmation: Confirmation, more: Partial<Strategy> = {}): Strategy => ({
  partition: 'date',
  membership: 'date',
  confirmation,
  relatedBy: confirmation === 'value' ? 'customer_id' : null,
  inclusiveEdges: [],
  watched: [],
  oneAnswerShowsAll: false,
  closesWindows: false,
  ...more,
});

const lacks = (...readings: readonly [slice: string, at: number][]): RowClaims['lacks'] =>
  readings.map(([slice, at]) => ({ slice: parseSlice(slice), at }));
const row = (more: Partial<RowClaims>): RowClaims => ({ key: '7', value: null, lacks: [], ...more });
const covered = (coveredSince: number | null, count: ListClaims['count'] = null): ListClaims => ({
  coveredSince,
  unfilteredSince: null,
  count,
});
const NOTHING = covered(null);

test('a row that no reading lacked is not deleted, whatever is known about the list', () => {
  for (const confirmation of ['address', 'value', 'neighbours', 'cover'] as const)
    expect(isDeleted(row({ value: '3' }), covered(1000), strategy(confirmation))).toBe(false);
});

test('a row is deleted when its own address answers 404', () => {
  expect(isDeleted(row({ denied: true }), NOTHING, strategy('address'))).toBe(true);
  expect(isDeleted(row({ lacks: lacks(['id 1..9', 1], ['id 5..7', 2]) }), covered(9), strategy('address'))).toBe(false);
});

describe('an invoice', () => {
  const invoice = strategy('value');
  const of = (...readings: [string, number][]) => row({ value: '3', lacks: lacks(...readings) });

  test('is deleted when its window and the list of its customer lack it', () => {
    expect(isDeleted(of(['date 2025-01-01..', 1], ['customer_id=3', 2]), NOTHING, invoice)).toBe(true);
  });

  test('is deleted by answers that each lacked half of what they were to show once a third lacks it', () => {
    const half = (...halves: boolean[]) =>
      lacks(['date 2025-01-01..', 1], ['customer_id=3', 2]).map((lack, index) => ({ ...lack, half: halves[index] }));
    const claims = (halves: boolean[], readings: number) => row({ value: '3', lacks: half(...halves), readings });
    expect(isDeleted(claims([true, true], 2), NOTHING, invoice)).toBe(false);
    expect(isDeleted(claims([true, true], 3), NOTHING, invoice)).toBe(true);
    expect(isDeleted(claims([true, false], 2), NOTHING, invoice)).toBe(true);
    expect(isDeleted(claims([false, true], 2), NOTHING, invoice)).toBe(true);
  });

  test('is deleted when the list of its customer lacks it without a doubt, whatever its window could not read', () => {
    const [window, customer] = lacks(['date 2025-01-01..', 1], ['customer_id=3', 2]) as [Lack, Lack];
    const claims = (...unreadable: Lack['unreadable'][]) =>
      row({ value: '3', lacks: [window, customer].map((lack, index) => ({ ...lack, unreadable: unreadable[index] })) });
    expect(isDeleted(claims('new', undefined), NOTHING, invoice)).toBe(true);
    expect(isDeleted(claims('new', 'new'), NOTHING, invoice)).toBe(false);
    expect(isDeleted(claims(undefined, 'new'), NOTHING, invoice)).toBe(false);
  });

  test('is not deleted if only its window lacks it, however often, or only the list of its customer', () => {
    expect(isDeleted(of(['date 2025-01-01..', 1], ['date 2025-01-01..', 2]), covered(9), invoice)).toBe(false);
    expect(isDeleted(of(['customer_id=3', 1], ['customer_id=3', 2]), covered(9), invoice)).toBe(false);
  });

  test('is not deleted because the list of another customer lacks it', () => {
    expect(isDeleted(of(['date 2025-01-01..', 1], ['customer_id=4', 2]), covered(9), invoice)).toBe(false);
  });

  test('without a customer is deleted when everything was read again since', () => {
    const without = row({ lacks: lacks(['date 2025-01-01..', 5]) });
    expect(isDeleted(without, covered(6), invoice)).toBe(true);
    expect(isDeleted(without, covered(5), invoice)).toBe(false);
  });
});

describe('a row of a list ordered by id, in which edited rows keep their place', () => {
  test('is deleted when a second answer for the ids around it lacks it', () => {
    const byId = strategy('neighbours', { partition: 'id' });
    expect(isDeleted(row({ lacks: lacks(['id 1..9', 1], ['id 5..8', 2]) }), NOTHING, byId)).toBe(true);
    expect(isDeleted(row({ lacks: lacks(['id 1..9', 1]) }), covered(9), byId)).toBe(false);
    expect(isDeleted(row({ lacks: lacks(['id 1..9', 1], ['newest', 2]) }), covered(9), byId)).toBe(false);
  });
});

test('a row that the list of its watched value may still show is kept', () => {
  const twice = { lacks: lacks(['id 1..9', 1], ['id 5..8', 2]) };
  const byId = strategy('neighbours', { partition: 'id' });
  for (const unread of [false, true]) {
    expect(isDeleted(row({ ...twice, unread }), NOTHING, byId)).toBe(!unread);
    expect(isDeleted(row({ ...twice, unread }), covered(3), strategy('cover'))).toBe(!unread);
    expect(isDeleted(row({ ...twice, unread, denied: true }), NOTHING, byId)).toBe(true);
  }
});

describe('a row of any other list', () => {
  test('is deleted when every slice was read again since it went missing', () => {
    const missing = row({ lacks: lacks(['date 2025-01-01..', 5]) });
    expect(isDeleted(missing, covered(6), strategy('cover'))).toBe(true);
    expect(isDeleted(missing, covered(5), strategy('cover'))).toBe(false);
    expect(isDeleted(missing, NOTHING, strategy('cover'))).toBe(false);
  });

  test('of a list that windows cover is deleted only if two equal counts of the source show no more rows than would remain', () => {
    const undated = strategy('cover', { partition: 'date' });
    const missing = row({ lacks: lacks(['date 2025-01-01..', 5]) });
    const count = (counted: number, countedBefore: number | null, left: number) =>
      isDeleted(missing, covered(6, { counted, countedBefore, left }), undated);
    expect(count(10, 10, 10)).toBe(true);
    expect(count(10, 10, 11)).toBe(true);
    expect(count(10, 10, 9)).toBe(false);
    expect(count(10, 11, 12)).toBe(false);
    expect(count(12, null, 12)).toBe(false);
    expect(isDeleted(missing, covered(6), undated)).toBe(true);
  });
});

describe('a row that went missing with half of its slice', () => {
  const half = (readings: number) =>
    row({ lacks: lacks(['date 2025-01-01..', 5]).map(each => ({ ...each, half: true })), readings });

  test('is deleted by a cover once three readings lacked it', () => {
    expect([1, 2, 3, 4].map(readings => isDeleted(half(readings), covered(9), strategy('cover')))).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });

  test('casts doubt on the cover that its slice is part of, which confirms no other row meanwhile', () => {
    const other = row({ key: '8', lacks: lacks(['date ..2024-12-31', 6]) });
    expect(isDeleted(other, { ...covered(9), doubted: true }, strategy('cover'))).toBe(false);
    expect(isDeleted(other, { ...covered(9), doubted: false }, strategy('cover'))).toBe(true);
  });

  test('is one of at least half of the stored rows, rounded down; rows that arrived with the reading do not count', () => {
    expect([0, 1, 2, 3].map(lacked => lacksHalf(lacked, { rows: 4, changed: 0 }))).toEqual([false, false, true, true]);
    expect(lacksHalf(1, { rows: 2, changed: 0 })).toBe(true);
    // Every second row of an odd number (seed 710): 37 of 75.
    expect([36, 37].map(lacked => lacksHalf(lacked, { rows: 75, changed: 0 }))).toEqual([false, true]);
    expect(lacksHalf(1, { rows: 4, changed: 2 })).toBe(true);
    expect(lacksHalf(0, { rows: 2, changed: 2 })).toBe(false);
  });
});

test('a row without an id is deleted as soon as its slice lacks it', () => {
  for (const confirmation of ['value', 'neighbours', 'cover'] as const) {
    const bare = row({ key: '#abc/1', lacks: lacks(['date 2025-01-01..', 1]) });
    expect(isDeleted(bare, NOTHING, strategy(confirmation))).toBe(true);
    // A status or a customer proves no range.
    const targeted = row({ key: '#abc/1', lacks: lacks(['status=Open', 1]) });
    expect(isDeleted(targeted, NOTHING, strategy(confirmation))).toBe(false);
  }
});

test('where a date filter may leave rows out, the unfiltered list has to lack a row without an id, too', () => {
  const bare = row({ key: '#abc/1', lacks: lacks(['date 2025-01-01..', 5]) });
  const judge = (unfilteredSince: number) =>
    isDeleted(bare, { ...NOTHING, unfilteredSince }, strategy('cover', { partition: 'date' }));
  expect([4, 5, 6].map(judge)).toEqual([false, false, true]);
});

const anySlice: fc.Arbitrary<Slice> = fc.constantFrom(
  ...[
    'date 2025-01-01..',
    'date ..2024-12-31',
    'customer_id=3',
    'customer_id=4',
    'id 1..9',
    'id 5..',
    'whole',
    'newest',
  ].map(parseSlice),
);
const anyLacks = fc.array(fc.record({ slice: anySlice, at: fc.integer({ min: 1, max: 20 }) }), { maxLength: 4 });
const anyClaims = fc.record({
  coveredSince: fc.option(fc.integer({ min: 0, max: 25 })),
  unfilteredSince: fc.option(fc.integer({ min: 0, max: 25 })),
  count: fc.option(
    fc.record({
      counted: fc.integer({ min: 0, max: 5 }),
      countedBefore: fc.option(fc.integer({ min: 0, max: 5 })),
      left: fc.integer({ min: 0, max: 6 }),
    }),
  ),
});
const anyStrategy = fc
  .record({
    confirmation: fc.constantFrom<Confirmation>('address', 'value', 'neighbours', 'cover'),
    membership: fc.constantFrom('date' as const, 'window' as const),
  })
  .map(({ confirmation, membership }) => strategy(confirmation, { membership }));
const anyValue = fc.option(fc.constantFrom('3', '4'));

test('in generated cases, no single reading deletes a row with an id', () => {
  fc.assert(
    fc.property(anyLacks, anyValue, anyClaims, anyStrategy, (all, value, list, its) => {
      const single = { key: '7', value, lacks: all.slice(0, 1) };
      // A cover that is complete since is the second reading.
      expect(isDeleted(single, { ...list, coveredSince: null }, its)).toBe(false);
    }),
    { numRuns: 1000 },
  );
});

test('in generated cases, further readings that lack a row never revoke its deletion', () => {
  fc.assert(
    fc.property(anyLacks, anyValue, anyClaims, anyStrategy, anySlice, (before, value, list, its, slice) => {
      fc.pre(its.confirmation !== 'neighbours');
      const at = 30;
      if (isDeleted({ key: '7', value, lacks: before }, list, its))
        expect(isDeleted({ key: '7', value, lacks: [...before, { slice, at }] }, list, its)).toBe(true);
    }),
    { numRuns: 1000 },
  );
});
