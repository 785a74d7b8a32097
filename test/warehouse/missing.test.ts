import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/clock.ts';
import type { Slice } from '../../src/engine/slices/slice.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import {
  deleteRows,
  findLeft,
  fuseLimit,
  listMissing,
  markMissing,
  markSeen,
  missingAmong,
} from '../../src/warehouse/rows/missing.ts';
import { sliceCondition } from '../../src/warehouse/rows/slice-condition.ts';
import { readTable, type Table } from '../../src/warehouse/rows/tables.ts';
import { writeRows } from '../../src/warehouse/rows/write-rows.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { contentOf, createParcels, inTransaction, parcel, readAtOf } from './parcels.ts';

const place = { source: 'main', resource: 'parcels' };

let own: TestDatabase;
let database: Database;
let table: Table;
let clock: VirtualClock;
beforeAll(async () => {
  own = await createTestDatabase();
  database = await own.open();
  table = await createParcels(database);
  clock = await createVirtualClock(database);
});
afterAll(async () => {
  await database?.close();
  await own?.drop();
});
beforeEach(() =>
  database.query('truncate warehouse.parcels, warehouse.parcel_parts, warehouse.row_history, sluice.missing'),
);

const keys = (count: number, from = 1) => Array.from({ length: count }, (_, index) => String(from + index));
const store = (count: number) =>
  inTransaction(database, tx =>
    writeRows(
      tx,
      table,
      keys(count).map(key =>
        parcel(Number(key), { name: `n${key}` }, { parts: [{ label: `p${key}`, weight: '1.5' }] }),
      ),
      { resource: 'parcels', runId: null, deep: false },
    ),
  );
const miss = (list: readonly string[], slice = 'id 1..10') =>
  inTransaction(database, tx => markMissing(tx, place, list, slice, readAtOf(1)));
/** Goes missing, and is proven gone. */
const lose = async (list: readonly string[], accepted = 0) => {
  await miss(list);
  return inTransaction(database, tx => deleteRows(tx, table, place, list, { runId: '7', accepted }));
};
const count = async (relation: string) =>
  Number((await database.query<{ count: string }>(`select count(*) from ${relation}`)).rows[0]?.count);

describe('the fuse', () => {
  test('is a tenth of the rows, and at least twenty', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10_000_000 }), rows => {
        const limit = fuseLimit(rows);
        expect(limit).toBeGreaterThanOrEqual(20);
        expect(limit * 10).toBeLessThanOrEqual(Math.max(rows, 200));
        expect((limit + 1) * 10).toBeGreaterThan(rows);
      }),
    );
  });

  test.each([
    { stored: 20, limit: 20 },
    { stored: 200, limit: 20 },
    { stored: 209, limit: 20 },
    { stored: 210, limit: 21 },
    { stored: 500, limit: 50 },
  ])('of $stored rows lets $limit go, and not one more', async ({ stored, limit }) => {
    await store(stored);
    if (stored > limit) {
      const more = keys(limit + 1);
      expect(await lose(more)).toEqual({ blown: { missing: limit + 1, lost: 0, limit } });
      expect([await count('warehouse.parcels'), await count('warehouse.row_history')]).toEqual([stored, 0]);
      expect(await count('sluice.missing')).toBe(limit + 1);
      await inTransaction(database, tx => markSeen(tx, place, more));
    }
    expect(await lose(keys(limit))).toEqual({ deleted: expect.arrayContaining(keys(limit)) });
    expect([await count('warehouse.parcels'), await count('warehouse.row_history')]).toEqual([stored - limit, limit]);
    expect(await count('sluice.missing')).toBe(0);
  });

  test('counts what was lost in the last 24 hours, over transactions, and no longer', async () => {
    await store(100);
    expect(await lose(keys(15))).toHaveProperty('deleted');
    await clock.advance(24 * HOUR - MINUTE);
    expect(await lose(keys(6, 16))).toEqual({ blown: { missing: 6, lost: 15, limit: 20 } });
    await inTransaction(database, tx => markSeen(tx, place, keys(6, 16)));
    expect(await lose(keys(5, 16))).toHaveProperty('deleted');
    expect(await lose(keys(1, 30))).toHaveProperty('blown');
    await clock.advance(2 * MINUTE);
    expect(await lose(keys(15, 30))).toHaveProperty('deleted');
    expect(await lose(keys(1, 50))).toHaveProperty('blown');
  });

  test('does not count what was accepted: the next day is not spent on it', async () => {
    await store(100);
    await database.query(`
      insert into sluice.orders (source, resource, kind, accept_deletes, created_at) values ('main', 'parcels', 'sync', 60, sluice.now());
      insert into sluice.runs (id, source, resource, kind, order_id, started_at) overriding system value
        select 7, 'main', 'parcels', 'sync', id, sluice.now() from sluice.orders`);
    expect(await lose(keys(60), 60)).toHaveProperty('deleted');
    await database.query('delete from sluice.runs');
    expect(await lose(keys(1, 61))).toHaveProperty('blown');
    await database.query(`insert into sluice.runs (id, source, resource, kind, order_id, started_at) overriding system value
      select 7, 'main', 'parcels', 'sync', id, sluice.now() from sluice.orders`);
    expect(await lose(keys(20, 61))).toHaveProperty('deleted');
  });

  test('counts all that is missing, so that a list that shrinks slice by slice loses nothing', async () => {
    await store(100);
    await miss(keys(21));
    const few = await inTransaction(database, tx =>
      deleteRows(tx, table, place, keys(3), { runId: null, accepted: 0 }),
    );
    expect(few).toEqual({ blown: { missing: 21, lost: 0, limit: 20 } });
    expect(await count('warehouse.parcels')).toBe(100);
  });

  test('gives way to as many as were accepted, and not to one more', async () => {
    await store(100);
    expect(await lose(keys(60), 59)).toHaveProperty('blown');
    expect(await lose(keys(60), 60)).toEqual({ deleted: expect.arrayContaining(keys(60)) });
    expect(await count('warehouse.parcels')).toBe(40);
  });

  test('holds for two processes at once', async () => {
    await store(100);
    await miss(keys(15));
    const remove = (list: readonly string[]) =>
      inTransaction(database, tx => deleteRows(tx, table, place, list, { runId: null, accepted: 0 }));
    const [one, other] = await Promise.all([remove(keys(15)), miss(keys(15, 16)).then(() => remove(keys(15, 16)))]);
    expect([one, other].filter(result => 'deleted' in result).length).toBeLessThanOrEqual(1);
    expect(await count('warehouse.parcels')).toBeGreaterThanOrEqual(85);
  });

  test('of one resource says nothing of another', async () => {
    await store(100);
    await database.query(
      `insert into sluice.missing select 'main', 'customers', n::text, 'whole', now() from generate_series(1, 500) n`,
    );
    await database.query(`insert into warehouse.row_history
      select 'customers', n::text, '{}', now(), sluice.now(), 'deleted', null from generate_series(1, 500) n`);
    expect(await lose(keys(20))).toHaveProperty('deleted');
  });
});

describe('a deleted row', () => {
  test('moves to the history whole, with its child rows, and leaves nothing behind', async () => {
    await inTransaction(database, tx =>
      writeRows(
        tx,
        table,
        [
          parcel(
            1,
            { name: 'Zoë', price: '12345678901234567890.5', sent: '2024-02-29' },
            {
              parts: [
                { label: 'a', weight: '1.5' },
                { label: null, weight: null },
              ],
              extra: { colour: 'red' },
            },
          ),
          parcel(2, { name: 'stays' }, { parts: [{ label: 'b', weight: '2' }] }),
        ],
        { resource: 'parcels', runId: null, deep: false },
      ),
    );
    const { rows: stored } = await database.query('select _synced_at from warehouse.parcels where id = 1');
    await lose(['1']);
    const { rows } = await database.query<{ row: Record<string, unknown> }>('select * from warehouse.row_history');
    expect(rows).toEqual([
      {
        resource: 'parcels',
        key: '1',
        valid_from: stored[0]?._synced_at,
        valid_to: expect.any(String) as string,
        ended_by: 'deleted',
        run_id: '7',
        row: {
          id: 1,
          name: 'Zoë',
          price: expect.any(Number) as number,
          sent: '2024-02-29',
          seen_at: null,
          _extra: { colour: 'red' },
          _synced_at: expect.any(String) as string,
          _read_at: expect.any(String) as string,
          parts: [
            { line: 1, label: 'a', weight: 1.5, _extra: null },
            { line: 2, label: null, weight: null, _extra: null },
          ],
        },
      },
    ]);
    const exact = await database.query(`select row->>'price' as price from warehouse.row_history`);
    expect(exact.rows).toEqual([{ price: '12345678901234567890.5' }]);
    expect(await contentOf(database)).toMatchObject([{ id: '2', name: 'stays', parts: [[1, 'b', 2]] }]);
    expect(await count('warehouse.parcel_parts')).toBe(1);
  });

  test('that is seen again comes back, and its history entry goes', async () => {
    await store(3);
    const before = await contentOf(database);
    await lose(['2']);
    expect(await contentOf(database)).toHaveLength(2);
    const back = await inTransaction(database, tx =>
      writeRows(tx, table, [parcel(2, { name: 'n2' }, { parts: [{ label: 'p2', weight: '1.5' }], at: 5 })], {
        resource: 'parcels',
        runId: null,
        deep: false,
      }),
    );
    expect(back).toMatchObject({ inserted: ['2'], revived: 1 });
    expect(await contentOf(database)).toEqual(before);
    expect(await count('warehouse.row_history')).toBe(0);
    expect(await count('warehouse.parcel_parts')).toBe(3);
  });

  test('that is deleted twice, comes back and goes again leaves one entry for each time it is gone now', async () => {
    await store(2);
    for (let at = 1; at <= 3; at++) {
      await lose(['1']);
      expect(await count('warehouse.row_history')).toBe(1);
      await inTransaction(database, tx =>
        writeRows(tx, table, [parcel(1, { name: 'again' }, { at })], { resource: 'parcels', runId: null, deep: false }),
      );
      expect(await count('warehouse.row_history')).toBe(0);
    }
  });

  test('may have no child rows and no lists at all', async () => {
    const plain = await readTable(database.kysely, {
      schema: 'warehouse',
      name: 'customers',
      keyField: 'id',
      fields: ['id', 'email'],
      children: [],
      history: false,
    });
    const customers = { source: 'main', resource: 'customers' };
    await inTransaction(database, async tx => {
      const row = { ...parcel(1, {}), values: { id: '1', email: 'a@example.org' }, hash: null };
      await writeRows(tx, plain, [row], { resource: 'customers', runId: null, deep: false });
      expect(await deleteRows(tx, plain, customers, ['1', '2'], { runId: null, accepted: 0 })).toEqual({
        deleted: ['1'],
      });
    });
    const { rows } = await database.query(`select row->>'email' as email from warehouse.row_history`);
    expect(rows).toEqual([{ email: 'a@example.org' }]);
  });

  test('is named once, however often it is asked for', async () => {
    await store(2);
    expect(await lose(['1', '1'])).toEqual({ deleted: ['1'] });
    expect(await count('warehouse.row_history')).toBe(1);
  });
});

describe('rows that left their slice', () => {
  // Brought before, by and after the reading that is granted as the fifth.
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
    '%s: those it holds, was read after, and did not show',
    async (_name, { slice, lies }) => {
      await inTransaction(database, tx =>
        writeRows(
          tx,
          table,
          keys(20).map(key => {
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
      const left = await findLeft(database.kysely, table, condition, seen, readAtOf(5));
      const expected = keys(20).filter(key => {
        const id = Number(key);
        return lies(id) && readBy(id) < 5 && !seen.includes(key);
      });
      expect(left.sort()).toEqual(expected.sort());
    },
  );

  test('are marked once, remember the slice that lacked them first, and are told by another slice', async () => {
    await store(3);
    expect(await miss(['1', '2'], 'id 1..10')).toEqual(['1', '2']);
    expect(await miss(['2', '3'], 'id 2..20')).toEqual(['3']);
    const among = await missingAmong(database.kysely, place, ['1', '2', '4']);
    expect(among.map(({ key, slice }) => [key, slice])).toEqual([
      ['1', 'id 1..10'],
      ['2', 'id 1..10'],
    ]);
    await inTransaction(database, tx => markSeen(tx, place, ['1']));
    const listed = await listMissing(database.kysely, place, table, 'name');
    expect(listed.map(({ key, slice, value }) => [key, slice, value])).toEqual([
      ['2', 'id 1..10', 'n2'],
      ['3', 'id 2..20', 'n3'],
    ]);
  });
});
