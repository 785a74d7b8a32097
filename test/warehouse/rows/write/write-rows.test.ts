import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../../../../src/warehouse/database/database.ts';
import type { Table } from '../../../../src/warehouse/rows/tables.ts';
import type { Row } from '../../../../src/warehouse/rows/write/row.ts';
import { writeRows } from '../../../../src/warehouse/rows/write/write-rows.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { contentOf, createParcels, inTransaction, marksOf, parcel } from '../../parcels.ts';

let own: TestDatabase;
let database: Database;
let table: Table;
beforeAll(async () => {
  own = await createTestDatabase();
  database = await own.open();
  table = await createParcels(database);
});
afterAll(async () => {
  await database?.close();
  await own?.drop();
});
const empty = () =>
  database.query('truncate warehouse.parcels, warehouse.parcel_parts, warehouse.row_history, sluice.missing');
beforeEach(empty);

const write = (rows: readonly Row[], options: { deep?: boolean; of?: Table; mostlyStored?: boolean } = {}) => {
  const { of = table, deep = false, mostlyStored = false } = options;
  return inTransaction(database, tx =>
    writeRows(tx, of, rows, { resource: 'parcels', runId: null, deep, mostlyStored }),
  );
};

/** The table with children, whose rows have hashes, or the same without. */
const tables = () => fc.constantFrom(table, { ...table, children: [], hashed: false });

const name = fc.option(fc.constantFrom('Ann', 'Zoë 🧾', '', 'a"b\\c', "O'Neill"));
const price = fc.option(fc.constantFrom('0', '-0.05', '1500', '12345678901234567890.123456789'));
const content = fc.record({
  name,
  price,
  sent: fc.option(fc.constantFrom('2024-02-29', '0001-01-01', '9999-12-31')),
  seen_at: fc.option(fc.constantFrom('2026-01-15 10:00:00.123456+02', '1999-12-31T23:59:59Z')),
});
const parts = fc.array(fc.record({ label: name, weight: price }), { maxLength: 3 });
const extra = fc.option(fc.dictionary(fc.constantFrom('a', 'b'), fc.jsonValue()), { nil: undefined });
const full = fc.record({ content, parts, extra });

/** Versions of a few rows, each read at another time and each different from the others of its row. */
const versions = fc
  .array(fc.record({ id: fc.integer({ min: 1, max: 5 }), full }), { minLength: 1, maxLength: 15 })
  .map(list =>
    list.map(({ id, full }, at) =>
      parcel(id, { ...full.content, name: `${full.content.name} ${at}` }, { parts: full.parts, extra: full.extra, at }),
    ),
  );

/** The same rows in another order, cut into batches somewhere. */
const batched = (rows: readonly Row[]) =>
  fc
    .tuple(
      fc.shuffledSubarray([...rows], { minLength: rows.length }),
      fc.array(fc.integer({ min: 1, max: 6 }), { minLength: rows.length, maxLength: rows.length }),
    )
    .map(([order, sizes]) => {
      const batches: Row[][] = [];
      for (let start = 0; start < order.length; ) {
        const size = sizes[batches.length] as number;
        batches.push(order.slice(start, start + size));
        start += size;
      }
      return batches;
    });

test('writing the same rows again writes nothing and locks nothing', async () => {
  await fc.assert(
    fc
      .asyncProperty(
        fc.array(full, { minLength: 1, maxLength: 8 }),
        tables(),
        fc.boolean(),
        fc.boolean(),
        async (list, of, deep, mostlyStored) => {
          const rows = list.map((each, id) => parcel(id, each.content, { parts: each.parts, extra: each.extra }));
          const first = await write(rows, { of });
          expect([...first.inserted].sort()).toEqual(rows.map(row => row.key).sort());
          const before = [await contentOf(database), await marksOf(database)];
          const later = rows.map(row => ({ ...row, readAt: '2026-02-01 00:00:00+00' }));
          const again = await write(later, { of, deep, mostlyStored });
          // What an equal hash says of the columns may no longer hold.
          const unsure = of.hashed && !deep ? rows.map(row => row.key).sort() : [];
          expect({ ...again, unsure: again.unsure.sort() }).toEqual({
            inserted: [],
            updated: [],
            unchanged: rows.length,
            revived: [],
            losing: new Map(),
            unsure,
            outdated: [],
          });
          expect([await contentOf(database), await marksOf(database)]).toEqual(before);
        },
      )
      .beforeEach(async () => void (await empty())),
    { numRuns: 25 },
  );
});

test('pages in any order and any batches end in the same rows: those read last', async () => {
  await fc.assert(
    fc
      .asyncProperty(
        versions.chain(rows => fc.tuple(fc.constant(rows), batched(rows))),
        tables(),
        fc.boolean(),
        async ([rows, batches], of, mostlyStored) => {
          for (const batch of batches) await write(batch, { of, mostlyStored });
          const shuffled = await contentOf(database);
          await empty();
          const latest = new Map(rows.map(row => [row.key, row]));
          await write([...latest.values()], { of });
          expect(shuffled).toEqual(await contentOf(database));
        },
      )
      .beforeEach(async () => void (await empty())),
    { numRuns: 40 },
  );
});

test('an older read never overwrites a newer one, in one batch or in two', async () => {
  const older = parcel(1, { name: 'older' }, { parts: [{ label: 'older', weight: '1' }], at: 1 });
  const newer = parcel(1, { name: 'newer' }, { parts: [{ label: 'newer', weight: '2' }], at: 2 });
  await write([newer]);
  const before = [await contentOf(database), await marksOf(database)];
  for (const deep of [false, true])
    expect(await write([older], { deep })).toMatchObject({ inserted: [], updated: [], unchanged: 1 });
  expect([await contentOf(database), await marksOf(database)]).toEqual(before);
  await empty();
  await write([newer, older]);
  expect(await contentOf(database)).toEqual(before[0]);
});

test('of two readings a fraction of a second apart the later one wins', async () => {
  const at = (readAt: string, text: string) => ({ ...parcel(1, { name: text }), readAt });
  await write([
    at('2026-01-15 10:00:00.12+00', 'third'),
    at('2026-01-15 10:00:00.1+00', 'second'),
    at('2026-01-15 10:00:00+00', 'first'),
  ]);
  expect(await contentOf(database)).toMatchObject([{ name: 'third' }]);
});

test('an absent field keeps the stored value, and null stores null', async () => {
  const partial = fc.record({ name, price, sent: fc.constantFrom(null, '2025-01-01') }, { requiredKeys: [] });
  await fc.assert(
    fc
      .asyncProperty(content, partial, async (stored, change) => {
        await write([parcel(1, stored, { at: 1 })]);
        const [before] = (await contentOf(database)) as Record<string, unknown>[];
        await write([parcel(1, change, { at: 2 })]);
        await write([parcel(2, { ...stored, ...change }, { at: 2 })]);
        const [after, expected] = (await contentOf(database)) as Record<string, unknown>[];
        expect(after).toEqual({ ...expected, id: '1' });
        expect(after?.seen_at).toEqual(before?.seen_at);
      })
      .beforeEach(async () => void (await empty())),
    { numRuns: 25 },
  );
});

test('a row written only if new leaves the stored row unchanged, and another row of the same call as well', async () => {
  const fromElsewhere = (row: Row): Row => ({ ...row, onlyIfNew: true });
  await write([parcel(1, { name: 'a' }), fromElsewhere(parcel(2, { name: 'b' }))]);
  const stored = await contentOf(database);
  expect(stored).toMatchObject([{ name: 'a' }, { name: 'b' }]);

  expect(await write([fromElsewhere(parcel(1, { name: 'c' }, { at: 1 }))])).toMatchObject({
    unchanged: 1,
    updated: [],
  });
  expect(await contentOf(database)).toEqual(stored);

  const both = [parcel(1, { name: 'd' }, { at: 2 }), fromElsewhere(parcel(1, { name: 'e' }, { at: 3 }))];
  for (const rows of [both, [...both].reverse()]) {
    await write(rows);
    expect(await contentOf(database)).toMatchObject([{ name: 'd' }, { name: 'b' }]);
  }
});

test('rows of several shapes are written in one call', async () => {
  const result = await write([
    parcel(1, { name: 'a' }),
    parcel(2, { price: '2' }),
    parcel(3, {}),
    parcel(4, { name: null }),
  ]);
  expect([...result.inserted].sort()).toEqual(['1', '2', '3', '4']);
});

test('more rows than fit one statement are all written', async () => {
  const rows = Array.from({ length: 2300 }, (_, id) =>
    parcel(id, { name: `n${id}` }, { parts: [{ label: 'x', weight: '1' }] }),
  );
  expect((await write(rows)).inserted).toHaveLength(2300);
  const { rows: counted } = await database.query(
    'select (select count(*) from warehouse.parcels) as parcels, (select count(*) from warehouse.parcel_parts) as parts',
  );
  expect(counted).toEqual([{ parcels: '2300', parts: '2300' }]);
  expect(await write(rows)).toMatchObject({ inserted: [], updated: [], unchanged: 2300 });
});

test('a column altered by hand is found by the deep comparison only', async () => {
  const row = parcel(1, { name: 'a', price: '1', sent: '2025-01-01' }, { extra: { a: 1 } });
  await write([row]);
  const before = await contentOf(database);
  for (const damage of [`name = 'b'`, 'price = null', `sent = '2025-01-02'`, '_extra = null', `_extra = '{"a":2}'`]) {
    await database.query(`update warehouse.parcels set ${damage}`);
    expect(await write([row])).toMatchObject({ updated: [], unchanged: 1 });
    expect(await write([row], { deep: true })).toMatchObject({ updated: ['1'], unchanged: 0 });
    expect(await contentOf(database), damage).toEqual(before);
  }
});

test('with history switched on, each earlier version is kept with the time it was valid', async () => {
  const kept = { ...table, history: true };
  for (const [at, text] of ['first', 'second', 'second', 'third'].entries())
    await write([parcel(1, { name: text }, { at })], { of: kept });
  const { rows } = await database.query(
    `select key, ended_by, row->>'name' as name, valid_from < valid_to as ordered,
       lead(valid_from, 1, (select _synced_at from warehouse.parcels)) over (order by valid_from) = valid_to as joined
     from warehouse.row_history order by valid_from`,
  );
  expect(rows).toEqual([
    { key: '1', ended_by: 'changed', name: 'first', ordered: true, joined: true },
    { key: '1', ended_by: 'changed', name: 'second', ordered: true, joined: true },
  ]);
});

describe('child rows', () => {
  test('are replaced with their parent', async () => {
    await fc.assert(
      fc
        .asyncProperty(parts, parts, async (first, second) => {
          await write([parcel(1, { name: 'a' }, { parts: first, at: 1 }), parcel(2, {}, { parts: first, at: 1 })]);
          await write([parcel(1, { name: 'b' }, { parts: second, at: 2 })]);
          const { rows } = await database.query(
            'select parcel_id as id, line, label, weight from warehouse.parcel_parts order by 1, 2',
          );
          const lines = (id: string, list: typeof first) =>
            list.map((each, index) => ({ id, line: index + 1, ...each }));
          expect(rows).toEqual([...lines('1', second), ...lines('2', first)]);
        })
        .beforeEach(async () => void (await empty())),
      { numRuns: 25 },
    );
  });

  test('stay when the record lacks the list', async () => {
    await write([parcel(1, { name: 'a' }, { parts: [{ label: 'x', weight: '1' }], at: 1 })]);
    await write([parcel(1, { name: 'b' }, { at: 2 })]);
    expect(await contentOf(database)).toMatchObject([{ name: 'b', parts: [[1, 'x', 1]] }]);
  });

  test('altered by hand are found by the deep comparison only', async () => {
    const row = parcel(
      1,
      { name: 'a' },
      {
        parts: [
          { label: 'x', weight: '1' },
          { label: null, weight: null },
        ],
      },
    );
    const untouched = parcel(2, { name: 'b' }, { parts: [{ label: 'y', weight: '2' }] });
    const childless = parcel(3, { name: 'c' }, { parts: [] });
    await write([row, untouched, childless]);
    const before = await contentOf(database);
    for (const damage of [
      `update warehouse.parcel_parts set weight = 9 where parcel_id = 1 and line = 1`,
      `update warehouse.parcel_parts set label = 'z' where parcel_id = 1 and line = 2`,
      `delete from warehouse.parcel_parts where parcel_id = 1 and line = 1`,
      `insert into warehouse.parcel_parts values (1, 3, 'more', 1, null)`,
      `update warehouse.parcel_parts set _extra = '{"a":1}' where parcel_id = 1 and line = 1`,
    ]) {
      await database.query(damage);
      expect(await write([row, untouched, childless])).toMatchObject({ updated: [], unchanged: 3 });
      expect(await write([row, untouched, childless], { deep: true })).toMatchObject({ updated: ['1'], unchanged: 2 });
      expect(await contentOf(database), damage).toEqual(before);
    }
    await database.query(`insert into warehouse.parcel_parts values (3, 1, 'more', 1, null)`);
    expect(await write([row, untouched, childless], { deep: true })).toMatchObject({ updated: ['3'], unchanged: 2 });
    expect(await contentOf(database)).toEqual(before);
  });
});
