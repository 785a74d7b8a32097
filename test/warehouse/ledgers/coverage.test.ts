import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';
import { overlap, parseSlice, type Slice, sliceText } from '../../../src/engine/slices/slice.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { readCoverage, writeCoverage } from '../../../src/warehouse/ledgers/coverage.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const place = { source: 'main', resource: 'invoices' };

const day = fc
  .integer({ min: Date.parse('0001-01-01') / 86_400_000, max: Date.parse('9999-12-31') / 86_400_000 })
  .map(days => new Date(days * 86_400_000).toISOString().slice(0, 10));
const ordered = <T extends string | bigint>([a, b]: [T | null, T | null]): { from: T | null; to: T | null } =>
  a !== null && b !== null && a > b ? { from: b, to: a } : { from: a, to: b };
const id = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const slice: fc.Arbitrary<Slice> = fc.oneof(
  fc.tuple(fc.option(id), fc.option(id)).map((ends): Slice => ({ by: 'id', ...ordered(ends) })),
  fc.tuple(fc.option(day), fc.option(day)).map((ends): Slice => ({ by: 'date', ...ordered(ends) })),
  fc.record({
    by: fc.constant('value' as const),
    field: fc.constantFrom('status', 'customer_id'),
    value: fc.string({ unit: 'grapheme' }).filter(text => !text.includes('\0')),
  }),
  fc.record({ by: fc.constant('one' as const), key: fc.string({ minLength: 1 }).filter(text => !text.includes('\0')) }),
  fc.constantFrom<Slice>({ by: 'newest' }, { by: 'whole' }),
);
const moment = fc.option(fc.integer({ min: Date.parse('2020-01-01'), max: Date.parse('2090-01-01') }));
const entry: fc.Arbitrary<Entry> = fc.record({
  slice,
  provenAt: moment,
  readAt: moment,
  requests: fc.integer({ min: 1, max: 100_000 }),
  rows: fc.option(fc.nat({ max: 10_000_000 })),
  changed: fc.double({ min: 0, max: 1e6, noNaN: true }).map(Math.abs),
  hoursWatched: fc.double({ min: 0, max: 1e6, noNaN: true }).map(Math.abs),
  dueSince: moment,
  dueReason: fc.option(fc.constantFrom('a row left status=Unpaid', 'webhook')),
});
const entries = fc.uniqueArray(entry, { selector: each => sliceText(each.slice), maxLength: 15 });

let own: TestDatabase;
let database: Database;
beforeAll(async () => {
  own = await createTestDatabase();
  database = await own.open();
});
afterAll(async () => {
  await database?.close();
  await own?.drop();
});

const byText = (list: readonly Entry[]) => new Map(list.map(each => [sliceText(each.slice), each]));

test('every slice is read back from its text', () => {
  fc.assert(
    fc.property(slice, each => {
      expect(parseSlice(sliceText(each))).toEqual(each);
    }),
    { numRuns: 1000 },
  );
});

test('two slices overlap exactly when a row could lie in both', () => {
  const small = fc.option(fc.bigInt({ min: 0n, max: 9n }));
  const range = fc.tuple(small, small).map((ends): Slice & { by: 'id' } => ({ by: 'id', ...ordered(ends) }));
  const has = (each: Slice & { by: 'id' }, n: bigint) =>
    (each.from === null || each.from <= n) && (each.to === null || n <= each.to);
  fc.assert(
    fc.property(range, range, (a, b) => {
      const shared = Array.from({ length: 14 }, (_, n) => BigInt(n - 2)).some(n => has(a, n) && has(b, n));
      expect(overlap(a, b)).toBe(shared);
      expect(overlap(b, a)).toBe(shared);
    }),
    { numRuns: 500 },
  );
});

test('the coverage is read back as it was written, whatever was replaced before', async () => {
  await fc.assert(
    fc
      .asyncProperty(entries, entries, fc.array(fc.nat({ max: 14 })), async (first, second, gone) => {
        await writeCoverage(database.kysely, place, [], first);
        expect(byText(await readCoverage(database.kysely, place))).toEqual(byText(first));
        const removed = gone.flatMap(index => first[index]?.slice ?? []);
        await writeCoverage(database.kysely, place, removed, second);
        const expected = byText(first);
        for (const each of removed) expected.delete(sliceText(each));
        for (const [text, each] of byText(second)) expected.set(text, each);
        expect(byText(await readCoverage(database.kysely, place))).toEqual(expected);
      })
      .beforeEach(async () => void (await database.query('truncate sluice.coverage'))),
    { numRuns: 40 },
  );
});

test('people can select it by date: an open end is stored as infinity', async () => {
  await database.query('truncate sluice.coverage');
  const of = (from: string | null, to: string | null): Entry => ({
    slice: { by: 'date', from, to },
    provenAt: Date.parse('2026-01-15T10:00:00Z'),
    readAt: null,
    requests: 1,
    rows: 1,
    changed: 0,
    hoursWatched: 0,
    dueSince: null,
    dueReason: null,
  });
  await writeCoverage(
    database.kysely,
    place,
    [],
    [of(null, '2024-12-31'), of('2025-01-01', '2025-12-31'), of('2026-01-01', null)],
  );
  const { rows } = await database.query(
    `select slice from sluice.coverage where date_from <= '2025-06-01' and date_to >= '1900-01-01' order by date_from`,
  );
  expect(rows).toEqual([{ slice: 'date ..2024-12-31' }, { slice: 'date 2025-01-01..2025-12-31' }]);
});
