import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../../src/clock.ts';
import { declareTable } from '../../../src/engine/records/declare-table.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { deleteRows } from '../../../src/warehouse/rows/delete-rows.ts';
import { unmarkMissing } from '../../../src/warehouse/rows/missing-rows.ts';
import { type Table, tableIn } from '../../../src/warehouse/rows/tables.ts';
import { writeRows } from '../../../src/warehouse/rows/write/write-rows.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { JOBS } from '../../support/resources.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';
import {
  contentOf,
  createParcels,
  inTransaction,
  missParcels,
  PARCELS,
  parcel,
  parcelKeys,
  storeParcels,
} from '../parcels.ts';

const place = PARCELS;

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

const store = (count: number) => storeParcels(database, table, count);
const miss = (list: readonly string[], slice?: string) => missParcels(database, list, slice);
/** Goes missing, and is proven deleted. */
const lose = async (list: readonly string[], accepted = 0) => {
  await miss(list);
  return inTransaction(database, tx => deleteRows(tx, table, place, list, { runId: '7', accepted }));
};
const count = async (relation: string) =>
  Number((await database.query<{ count: string }>(`select count(*) from ${relation}`)).rows[0]?.count);

describe('the loss limit', () => {
  test.each([
    { stored: 40, limit: 20 },
    { stored: 200, limit: 20 },
    { stored: 209, limit: 20 },
    { stored: 210, limit: 21 },
    { stored: 500, limit: 50 },
  ])('lets $limit of $stored rows be deleted, and not one more', async ({ stored, limit }) => {
    await store(stored);
    if (stored > limit) {
      const more = parcelKeys(limit + 1);
      expect(await lose(more)).toMatchObject({ beyond: { missing: limit + 1, lost: 0, limit } });
      expect([await count('warehouse.parcels'), await count('warehouse.row_history')]).toEqual([stored, 0]);
      expect(await count('sluice.missing')).toBe(limit + 1);
      await inTransaction(database, tx => unmarkMissing(tx, place, more));
    }
    expect(await lose(parcelKeys(limit))).toEqual({ deleted: expect.arrayContaining(parcelKeys(limit)) });
    expect([await count('warehouse.parcels'), await count('warehouse.row_history')]).toEqual([stored - limit, limit]);
    expect(await count('sluice.missing')).toBe(0);
  });

  test('counts the rows lost in the last 24 hours, over all transactions, and no older ones', async () => {
    await store(100);
    expect(await lose(parcelKeys(15))).toHaveProperty('deleted');
    await clock.advance(24 * HOUR - MINUTE);
    expect(await lose(parcelKeys(6, 16))).toMatchObject({ beyond: { missing: 6, lost: 15, limit: 20 } });
    await inTransaction(database, tx => unmarkMissing(tx, place, parcelKeys(6, 16)));
    expect(await lose(parcelKeys(5, 16))).toHaveProperty('deleted');
    expect(await lose(parcelKeys(1, 30))).toHaveProperty('beyond');
    await clock.advance(2 * MINUTE);
    expect(await lose(parcelKeys(15, 30))).toHaveProperty('deleted');
    expect(await lose(parcelKeys(1, 50))).toHaveProperty('beyond');
  });

  test('does not count accepted deletions, so that the next day is not spent on them', async () => {
    await store(100);
    await database.query(`
      insert into sluice.orders (source, resource, kind, accept_deletes, created_at) values ('main', 'parcels', 'sync', 60, sluice.now());
      insert into sluice.runs (id, source, resource, kind, order_id, started_at) overriding system value
        select 7, 'main', 'parcels', 'sync', id, sluice.now() from sluice.orders`);
    expect(await lose(parcelKeys(60), 60)).toHaveProperty('deleted');
    await database.query('delete from sluice.runs');
    expect(await lose(parcelKeys(1, 61))).toHaveProperty('beyond');
    await database.query(`insert into sluice.runs (id, source, resource, kind, order_id, started_at) overriding system value
      select 7, 'main', 'parcels', 'sync', id, sluice.now() from sluice.orders`);
    expect(await lose(parcelKeys(20, 61))).toHaveProperty('deleted');
  });

  test('exempts only as many deletions of an order as were accepted, also when some are older than a day', async () => {
    await store(100);
    await database.query(`
      truncate sluice.runs, sluice.orders;
      insert into sluice.orders (source, resource, kind, accept_deletes, created_at) values ('main', 'parcels', 'sync', 3, sluice.now());
      insert into sluice.runs (id, source, resource, kind, order_id, started_at) overriding system value
        select 7, 'main', 'parcels', 'sync', id, sluice.now() from sluice.orders`);
    expect(await lose(parcelKeys(20))).toHaveProperty('deleted');
    expect(await lose(parcelKeys(4, 21))).toMatchObject({ beyond: { lost: 17, missing: 4 } });
    await inTransaction(database, tx => unmarkMissing(tx, place, parcelKeys(4, 21)));
    await database.query('update sluice.orders set deleted = 20');
    await clock.advance(24 * HOUR + MINUTE);
    expect(await lose(parcelKeys(20, 21))).toHaveProperty('deleted');
    await database.query('update sluice.orders set deleted = 40');
    expect(await lose(parcelKeys(1, 41))).toMatchObject({ beyond: { lost: 20, missing: 1 } });
  });

  test('counts all missing rows, so that a list that shrinks slice by slice loses nothing', async () => {
    await store(100);
    await miss(parcelKeys(21));
    const few = await inTransaction(database, tx =>
      deleteRows(tx, table, place, parcelKeys(3), { runId: null, accepted: 0 }),
    );
    expect(few).toMatchObject({ beyond: { missing: 21, lost: 0, limit: 20 } });
    expect(await count('warehouse.parcels')).toBe(100);
  });

  test('lets as many rows go as were accepted, and not one more', async () => {
    await store(100);
    expect(await lose(parcelKeys(60), 59)).toHaveProperty('beyond');
    expect(await lose(parcelKeys(60), 60)).toEqual({ deleted: expect.arrayContaining(parcelKeys(60)) });
    expect(await count('warehouse.parcels')).toBe(40);
  });

  test('holds for two processes at once', async () => {
    await store(100);
    await miss(parcelKeys(15));
    const remove = (list: readonly string[]) =>
      inTransaction(database, tx => deleteRows(tx, table, place, list, { runId: null, accepted: 0 }));
    const [one, other] = await Promise.all([
      remove(parcelKeys(15)),
      miss(parcelKeys(15, 16)).then(() => remove(parcelKeys(15, 16))),
    ]);
    expect([one, other].filter(result => 'deleted' in result).length).toBeLessThanOrEqual(1);
    expect(await count('warehouse.parcels')).toBeGreaterThanOrEqual(85);
  });

  test('of one resource is independent of that of another', async () => {
    await store(100);
    await database.query(
      `insert into sluice.missing select 'main', 'customers', n::text, 'whole', now() from generate_series(1, 500) n`,
    );
    await database.query(`insert into warehouse.row_history
      select 'customers', n::text, '{}', now(), sluice.now(), 'deleted', null from generate_series(1, 500) n`);
    expect(await lose(parcelKeys(20))).toHaveProperty('deleted');
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
        number: null,
        row: {
          id: 1,
          name: 'Zoë',
          price: expect.any(Number) as number,
          sent: '2024-02-29',
          seen_at: null,
          _extra: { colour: 'red' },
          _hash: expect.any(String) as string,
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

  const ended = async (by: string) => count(`warehouse.row_history where ended_by = '${by}'`);

  test('that is seen again as it was comes back, and its history entry becomes an earlier version', async () => {
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
    expect(back).toMatchObject({ inserted: ['2'], revived: ['2'] });
    expect(await contentOf(database)).toEqual(before);
    expect([await ended('deleted'), await ended('changed')]).toEqual([0, 1]);
    expect(await count('warehouse.parcel_parts')).toBe(3);
  });

  test('whose id another record takes keeps its history, with when it was deleted', async () => {
    const write = (id: number, name: string, part: string, at: number) =>
      inTransaction(database, tx =>
        writeRows(tx, table, [parcel(id, { name }, { parts: [{ label: part, weight: '1.5' }], at })], {
          resource: 'parcels',
          runId: null,
          deep: false,
        }),
      );
    const entries = async () =>
      (
        await database.query(`select row->>'name' as name, row->'parts'->0->>'label' as part, ended_by, valid_to
            from warehouse.row_history order by valid_to`)
      ).rows;
    await store(30);
    await write(1, 'first', 'a', 1);
    await database.query('truncate warehouse.row_history');
    await lose(['1']);
    const [kept] = await entries();
    await clock.advance(MINUTE);
    expect(await write(1, 'other', 'a', 2)).toMatchObject({ inserted: ['1'], revived: [] });
    expect(await entries()).toEqual([kept]);
    await clock.advance(MINUTE);
    await lose(['1']);
    // The first record comes back, but the second had its id since.
    await clock.advance(MINUTE);
    expect(await write(1, 'first', 'a', 3)).toMatchObject({ revived: [] });
    expect(await entries()).toMatchObject([kept, { name: 'other', ended_by: 'deleted' }]);
    // A record that differs in its child rows alone is another one, too.
    await clock.advance(MINUTE);
    await lose(['1']);
    await clock.advance(MINUTE);
    expect(await write(1, 'first', 'b', 4)).toMatchObject({ revived: [] });
    expect(await entries()).toHaveLength(3);
    // It comes back as it was.
    await clock.advance(MINUTE);
    await lose(['1']);
    expect(await write(1, 'first', 'b', 5)).toMatchObject({ revived: ['1'] });
    expect((await entries()).slice(3)).toMatchObject([{ ended_by: 'changed', part: 'b' }]);
  });

  test('that is deleted again and again, and comes back as it was, is deleted once', async () => {
    await store(2);
    const write = (at: number) =>
      inTransaction(database, tx =>
        writeRows(tx, table, [parcel(1, { name: 'again' }, { parts: [], at })], {
          resource: 'parcels',
          runId: null,
          deep: false,
        }),
      );
    await write(1);
    for (let at = 2; at <= 4; at++) {
      await lose(['1']);
      expect(await ended('deleted')).toBe(1);
      await write(at);
      expect(await ended('deleted')).toBe(0);
    }
  });

  test('may be of a table without child rows', async () => {
    const plain = tableIn('warehouse', declareTable('customers', JOBS.customers));
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

  test('is returned once, however often it is named', async () => {
    await store(2);
    expect(await lose(['1', '1'])).toEqual({ deleted: ['1'] });
    expect(await count('warehouse.row_history')).toBe(1);
  });
});
