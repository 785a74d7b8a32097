import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { date, decimal, defineJob, integer, list, text, timestamp } from '../../../src/engine/job.ts';
import { compileRecord } from '../../../src/engine/records/compile-record.ts';

const FIELDS = { id: integer(), amount: decimal(), sent: date(), seen: timestamp(), note: text() };
const job = defineJob({
  path: '/parcels',
  key: 'id',
  record: z.object({ ...FIELDS, parts: list(z.object({ label: text(), weight: decimal() })) }),
  children: { parts: { table: 'parcel_parts', parent: 'parcel_id' } },
  slicings: [],
});

const anyValue = fc.oneof(
  fc.constantFrom(null, '', 0, -0, 1.5, 1e21, '1500.00', '0.50', '007', '-0', '5.', '.5', '1e3', ' 12 ', true, {}, []),
  fc.constantFrom('2026-01-15', '2026-02-29', '2024-02-29', '2026-01-15T10:00:00Z', '0000-00-00', 'a\0b', '\ud800'),
  fc.integer(),
  fc.double(),
  fc.string(),
  fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.nat(99)).map(([whole, part]) => `${whole}.${part}`),
);
const anyItems = fc.oneof(
  fc.array(fc.record({ label: anyValue, weight: anyValue }, { requiredKeys: [] }), { maxLength: 3 }),
  fc.array(anyValue, { maxLength: 2 }),
  anyValue,
);
const anyRecord = fc.record(
  { id: anyValue, amount: anyValue, sent: anyValue, seen: anyValue, note: anyValue, parts: anyItems, other: anyValue },
  { requiredKeys: [] },
);

test('a compiled record reads as zod does, and leaves what does not fit to it', () => {
  const read = compileRecord(job);
  fc.assert(
    fc.property(anyRecord, record => {
      const expected = job.record.safeParse(record);
      const found = read?.(record) ?? null;
      const { parts, ...values } = expected.data ?? {};
      const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
      expect(found).toEqual(expected.success ? { values: given, lists: parts === undefined ? {} : { parts } } : null);
    }),
    { numRuns: 1000 },
  );
});

test.each([
  ['a type of its own', z.object({ id: integer(), rank: z.number() })],
  ['a check of the whole record', z.object({ id: integer() }).refine(() => true)],
  ['what it does not declare', z.looseObject({ id: integer() })],
])('a record that declares %s is left to zod', (_what, record) => {
  expect(compileRecord(defineJob({ path: '/parcels', key: 'id', record, slicings: [] }))).toBeUndefined();
});
