import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { stampMs } from '../../../src/clock.ts';
import type { Slice } from '../../../src/engine/slices/slice.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { listMissing, missingAmong, unmarkMissing } from '../../../src/warehouse/rows/missing-rows.ts';
import { sliceCondition } from '../../../src/warehouse/rows/slice-condition.ts';
import { compareRows } from '../../../src/warehouse/rows/stored-rows.ts';
import type { Table } from '../../../src/warehouse/rows/tables.ts';
import { writeRows } from '../../../src/warehouse/rows/write/write-rows.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import {
  createParcels,
  inTransaction,
  missParcels,
  PARCELS,
  parcel,
  parcelKeys,
  readAtOf,
  storeParcels,
} from '../parcels.ts';

const place = PARCELS;

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
beforeEach(() => database.query('truncate warehouse.parcels, warehouse.parcel_parts, sluice.missing'));

const store = (count: number) => storeParcels(database, table, count);
const miss = (list: readonly string[], slice?: string) => missParcels(database, list, slice);

test('a row is missing from the end of the reading that lacked it, and counts as lacked again only by one begun after that', async () => {
  await store(2);
  const missing = () => listMissing(database.kysely, PARCELS, table, { relatedBy: null, watched: [] });
  const moments = async () => (await missing()).map(({ since, readings }) => [stampMs(since), readings]);
  await missParcels(database, ['1'], 'id 1..10', [2, 5]);
  expect(await moments()).toEqual([[stampMs(readAtOf(5)), 1]]);
  await missParcels(database, ['1'], 'id 1..10', [4, 7]);
  expect(await moments()).toEqual([[stampMs(readAtOf(5)), 1]]);
  await missParcels(database, ['1'], 'id 1..10', [6, 9]);
  expect(await moments()).toEqual([[stampMs(readAtOf(5)), 2]]);
});

describe('rows that left their slice', () => {
  // Read before, by and after the reading that was granted fifth.
  const readBy = (id: number) => (id % 3 === 0 ? 9 : id % 5 === 0 ? 5 : 1);
  const slices: Record<string, { slice: Slice; lies: (id: number) => boolean }> = {
    'an id range': { slice: { by: 'id', from: 5n, to: 12n }, lies: id => id >= 5 && id <= 12 },
    'an open id range': { slice: { by: 'id', from: null, to: 12n }, lies: id => id <= 12 },
    'a date window': { slice: { by: 'date', from: '2025-01-05', to: '2025-01-12' }, lies: id => id >= 5 && id <= 12 },
    'a value': { slice: { by: 'value', field: 'name', value: 'even' }, lies: id => id % 2 === 0 },
    'one row': { slice: { by: 'one', key: '7' }, lies: id => id === 7 },
    'the whole list': { slice: { by: 'whole' }, lies: () => true },
  };

  test.each(Object.entries(slices))(
    '%s: those in it that it did not show and that were last read before it',
    async (_name, { slice, lies }) => {
      await inTransaction(database, tx =>
        writeRows(
          tx,
          table,
          parcelKeys(20).map(key => {
            const id = Number(key);
            const sent = id === 20 ? null : `2025-01-${key.padStart(2, '0')}`;
            return parcel(id, { name: id % 2 === 0 ? 'even' : 'odd', sent }, { at: readBy(id) });
          }),
          { resource: 'parcels', runId: null, deep: false },
        ),
      );
      const condition = sliceCondition(slice, table, 'sent');
      if (!condition) throw new Error('it has members');
      const seen = ['6', '8', '99'];
      const { left, rows, changed } = await compareRows(database.kysely, table, condition, seen, readAtOf(5));
      const inSlice = parcelKeys(20).filter(key => lies(Number(key)));
      expect([rows, changed]).toEqual([inSlice.length, inSlice.filter(key => readBy(Number(key)) >= 5).length]);
      const expected = parcelKeys(20).filter(key => {
        const id = Number(key);
        return lies(id) && readBy(id) < 5 && !seen.includes(key);
      });
      expect(left.map(({ key }) => key).sort()).toEqual(expected.sort());
    },
  );

  test('are marked once, with the first slice that lacked them', async () => {
    await store(3);
    expect(await miss(['1', '2'], 'id 1..10')).toEqual([]);
    const before = await miss(['2', '3'], 'id 2..20');
    expect(before.map(({ key, slice }) => [key, slice])).toEqual([['2', 'id 1..10']]);
    const among = await missingAmong(database.kysely, place, ['1', '2', '4']);
    expect(among.map(({ key, slice }) => [key, slice])).toEqual([
      ['1', 'id 1..10'],
      ['2', 'id 1..10'],
    ]);
    await inTransaction(database, tx => unmarkMissing(tx, place, ['1']));
    const listed = await listMissing(database.kysely, place, table, { relatedBy: 'name', watched: [] });
    expect(listed.map(({ key, slice, value }) => [key, slice, value])).toEqual([
      ['2', 'id 1..10', 'n2'],
      ['3', 'id 2..20', 'n3'],
    ]);
  });
});
