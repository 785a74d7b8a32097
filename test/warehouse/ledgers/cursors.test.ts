import { expect, test } from 'vitest';
import { MINUTE } from '../../../src/clock.ts';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';
import { isKind } from '../../../src/errors.ts';
import type { Transaction } from '../../../src/warehouse/database/database.ts';
import { createSeenTime, NOW, type SeenTime } from '../../../src/warehouse/database/now.ts';
import { bookCommit } from '../../../src/warehouse/ledgers/book-commit.ts';
import { type Cursor, type ReadingState, takeCursors } from '../../../src/warehouse/ledgers/cursors.ts';
import { writeRows } from '../../../src/warehouse/rows/write/write-rows.ts';
import { withDatabase } from '../../support/database.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { contentOf, createParcels, inTransaction, parcel } from '../parcels.ts';
import { aBooking, takeCursor } from './booking.ts';

const reading = (startedAt: string, page = 2): ReadingState => ({
  page,
  limit: 100,
  keys: ['1', '2'],
  startedAt,
  totalPages: 5,
  before: null,
  last: '2',
  totalRecords: 500,
  steady: true,
});
async function moveCursor(tx: Transaction, from: Cursor, readings: Record<string, ReadingState> = {}): Promise<Cursor> {
  const [moved] = await bookCommit(tx, 'main', [aBooking('parcels', from, { readings })], createSeenTime());
  return moved as Cursor;
}

test('a cursor that was taken over refuses its previous reader, and nothing of that transaction is written', async () => {
  await withDatabase(async database => {
    const table = await createParcels(database);
    const write = (id: number, cursor: Cursor) =>
      inTransaction(database, async tx => {
        await writeRows(tx, table, [parcel(id, { name: `n${id}` }, { parts: [{ label: 'a', weight: '1' }] })], {
          resource: 'parcels',
          runId: null,
          deep: false,
        });
        return moveCursor(tx, cursor);
      });
    const first = await takeCursor(database, 'parcels');
    const moved = await write(1, first);
    const before = await contentOf(database);

    await expect(write(2, first)).rejects.toSatisfy(error => isKind(error, 'stale'));
    expect(await contentOf(database)).toEqual(before);

    const second = await takeCursor(database, 'parcels');
    await expect(write(3, moved)).rejects.toSatisfy(error => isKind(error, 'stale'));
    expect(await contentOf(database)).toEqual(before);
    await write(4, second);
    expect(await contentOf(database)).toHaveLength(2);
    const { rows } = await database.query('select count(*) as parts from warehouse.parcel_parts');
    expect(rows).toEqual([{ parts: '2' }]);
  });
});

test('of two commits from the same version one is written and the other refused', async () => {
  await withDatabase(async database => {
    const cursor = await takeCursor(database, 'parcels');
    const move = () => inTransaction(database, tx => moveCursor(tx, cursor));
    const results = await Promise.allSettled([move(), move(), move()]);
    expect(results.filter(result => result.status === 'fulfilled')).toHaveLength(1);
    for (const result of results) if (result.status === 'rejected') expect(isKind(result.reason, 'stale')).toBe(true);
  });
});

test('a commit that only books is refused as a whole: if one of its cursors was taken over, or the clock was put back', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const lists = ['others', 'parcels'];
    const taken = await takeCursors(database.kysely, 'main', lists);
    const { id: runId } = await database.kysely
      .insertInto('sluice.runs')
      .values({ source: 'main', resource: 'parcels', kind: 'sync', state: 'running', started_at: NOW })
      .returning('id')
      .executeTakeFirstOrThrow();
    const never = { provenAt: null, readAt: null, rows: null, dueSince: null, dueReason: null };
    const entry: Entry = { ...never, slice: { by: 'whole' }, requests: 1, changed: 0, hoursWatched: 0 };
    const book = (seenTime: SeenTime) =>
      database.transaction(tx =>
        bookCommit(
          tx,
          'main',
          lists.map(name =>
            aBooking(name, taken.get(name) as Cursor, {
              put: [entry],
              counts: [{ runId, orderId: null, counts: { requests: 1 } }],
            }),
          ),
          seenTime,
        ),
      );
    const booked = async () => {
      const { rows } = await database.query(`select (select count(*) from sluice.coverage) as slices,
        (select sum(requests) from sluice.runs) as requests, (select count(*) from sluice.cursors where committed_at is not null) as cursors`);
      return rows[0];
    };
    const nothing = { slices: '0', requests: '0', cursors: '0' };

    const seenTime = createSeenTime();
    seenTime.restart(clock.now() + MINUTE);
    await expect(book(seenTime)).rejects.toThrow('The clock of the database was put back');
    expect(seenTime.wasPutBack).toBe(true);
    expect(await booked()).toEqual(nothing);

    await takeCursors(database.kysely, 'main', ['parcels']);
    await expect(book(createSeenTime())).rejects.toThrow('Another process took over parcels');
    expect(await booked()).toEqual(nothing);
  });
});

test('a cursor that nobody took refuses as well', async () => {
  await withDatabase(async database => {
    const cursor = { version: '0', isLogged: false, readings: {} };
    await expect(inTransaction(database, tx => moveCursor(tx, cursor))).rejects.toSatisfy(error =>
      isKind(error, 'stale'),
    );
  });
});

test('the next reader continues at the last commit, except for readings begun more than 15 minutes ago', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const stamp = () => new Date(clock.now()).toISOString().replace('T', ' ').replace('Z', '+00');
    const cursor = (await takeCursors(database.kysely, 'main', ['parcels', 'others'])).get('parcels');
    if (!cursor) throw new Error('no cursor');
    const old = reading(stamp());
    await clock.advance(10 * MINUTE);
    const young = reading(stamp(), 4);
    await inTransaction(database, tx => moveCursor(tx, cursor, { old, young }));

    await clock.advance(4 * MINUTE);
    const both = await takeCursors(database.kysely, 'main', ['parcels']);
    expect(both.get('parcels')?.readings).toEqual({ old, young });
    await clock.advance(2 * MINUTE);
    const taken = await takeCursors(database.kysely, 'main', ['parcels', 'others']);
    expect(taken.get('parcels')?.readings).toEqual({ young });
    expect(taken.get('others')?.readings).toEqual({});
    const { rows } = await database.query(`select position, committed_at is not null as committed from sluice.cursors
      where resource = 'parcels'`);
    expect(rows).toEqual([{ position: 'id 1..10', committed: true }]);
  });
});

test('a reading that an earlier version stored begins again', async () => {
  await withDatabase(async database => {
    await takeCursor(database, 'parcels');
    const { last: _, keys: __, ...unsaid } = reading('');
    for (const stored of [reading(''), { ...unsaid, last: null, keys: { ids: '1-2' } }, { ...unsaid, seen: 0 }]) {
      await database.query(
        `update sluice.cursors
        set readings = jsonb_build_object('id 1..9', cast($1 as jsonb) || jsonb_build_object('startedAt', sluice.now()))`,
        [JSON.stringify(stored)],
      );
      expect((await takeCursor(database, 'parcels')).readings).toEqual({});
    }
  });
});

test('seen keys have their own table, to which a commit adds its own, and a reading begins again when they are lost', async () => {
  await withDatabase(async database => {
    const take = () => takeCursor(database, 'parcels');
    const shown = (keys: string[], startedAt = '2026-01-15 10:00:00+00') => ({ ...reading(startedAt), keys });
    const move = (from: Cursor, readings: Record<string, ReadingState>) =>
      inTransaction(database, tx => moveCursor(tx, from, readings));
    const inCursor = async () => {
      const { rows } = await database.query("select readings->'whole'->'keys' as keys from sluice.cursors");
      return rows;
    };

    const first = await move(await take(), { whole: shown(['1', '2']) });
    await move(first, { whole: shown(['1', '2', '3']) });
    expect(await inCursor()).toEqual([{ keys: null }]);
    const taken = await take();
    expect([...(taken.readings.whole?.keys ?? [])].sort()).toEqual(['1', '2', '3']);

    const anew = await move(taken, { whole: shown(['7'], '2026-01-15 11:00:00+00') });
    expect((await take()).readings.whole?.keys).toEqual(['7']);
    expect(anew.readings.whole?.keys).toEqual(['7']);

    await database.query('truncate sluice.seen_keys');
    const lost = await take();
    expect(lost.readings).toEqual({});
    await move(lost, { whole: shown(['8']) });
    await move(await take(), {});
    expect((await database.query('select from sluice.seen_keys')).rows).toEqual([]);

    // As \`forget\` leaves them: the reading that they belong to has ended.
    await database.query(`insert into sluice.seen_keys (source, resource, slice, at, keys)
      values ('main', 'parcels', 'whole', 0, '{"ids":"9"}')`);
    await move(await take(), { whole: shown(['9', '10']) });
    expect([...((await take()).readings.whole?.keys ?? [])].sort()).toEqual(['10', '9']);
  });
});
