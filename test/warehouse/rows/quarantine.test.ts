import { expect, test } from 'vitest';
import { countCleaned, listQuarantine, quarantine, resolveQuarantine } from '../../../src/warehouse/rows/quarantine.ts';
import { withDatabase } from '../../support/database.ts';

const place = { source: 'main', resource: 'invoices' };
const bad = (key: string) => ({ key, payload: '{"a":"\\u0000"}', reasons: { amount: 'expected a number' } });

test('a record is kept as it came, with the number and time of attempts, until it parses', async () => {
  await withDatabase(async database => {
    const db = database.kysely;
    expect(await quarantine(db, place, { slice: 'date ..', startedAt: null }, [bad('1'), bad('2'), bad('2')])).toBe(2);
    expect(await quarantine(db, place, { slice: 'status=Unpaid', startedAt: null }, [bad('1')])).toBe(0);
    expect((await listQuarantine(db, 'main', 10)).map(({ key, slice, attempts }) => [key, slice, attempts])).toEqual([
      ['1', 'status=Unpaid', 2],
      ['2', 'date ..', 1],
    ]);
    expect((await listQuarantine(db, 'main', 10))[0]).toMatchObject(bad('1'));
    expect(await listQuarantine(db, 'other', 10)).toEqual([]);
    await resolveQuarantine(db, place, ['1']);
    expect((await listQuarantine(db, 'main', 10)).map(({ key }) => key)).toEqual(['2']);
  });
});

test('a record that comes again after it was resolved is first seen then', async () => {
  await withDatabase(async database => {
    const firstSeen = async () => (await listQuarantine(database.kysely, 'main', 10))[0]?.firstSeen;
    await quarantine(database.kysely, place, { slice: 'date ..', startedAt: null }, [bad('1')]);
    await database.query(`update sluice.quarantine set first_seen = '2020-01-01'`);
    await quarantine(database.kysely, place, { slice: 'date ..', startedAt: null }, [bad('1')]);
    expect(await firstSeen()).toMatch(/^2020/);
    await resolveQuarantine(database.kysely, place, ['1']);
    await quarantine(database.kysely, place, { slice: 'date ..', startedAt: null }, [bad('1')]);
    expect(await firstSeen()).not.toMatch(/^2020/);
  });
});

test('it is resolved once everything was read since and did not show it, and not before', async () => {
  await withDatabase(async database => {
    const db = database.kysely;
    const keys = async () => (await listQuarantine(db, 'main', 10)).map(({ key }) => key);
    const cover = (slice: string, column: string, at: string) =>
      database.query(
        `insert into sluice.coverage (source, resource, slice, ${column}) values ('main', 'invoices', $1, ${at})
         on conflict (source, resource, slice) do update set ${column} = excluded.${column}`,
        [slice],
      );
    await quarantine(db, place, { slice: 'date ..2024-12-31', startedAt: null }, [bad('?1')]);
    await quarantine(db, place, { slice: 'status=Unpaid', startedAt: null }, [bad('?2')]);
    const [later, before] = ["sluice.now() + interval '1 minute'", "sluice.now() - interval '1 minute'"];
    await cover('date ..2024-12-31', 'proven_at', later);
    await cover('date 2025-01-01..', 'proven_at', 'null');
    expect(await keys()).toEqual(['?2', '?1']);
    await cover('date 2025-01-01..', 'proven_at', before);
    expect(await keys()).toEqual(['?2', '?1']);
    await cover('status=Unpaid', 'read_at', before);
    await cover('date 2025-01-01..', 'proven_at', later);
    expect(await keys()).toEqual(['?2']);
    await resolveQuarantine(db, place, []);
    const { rows } = await database.query('select key from sluice.quarantine where resolved_at is null');
    expect(rows).toEqual([{ key: '?2' }]);
    await cover('status=Unpaid', 'read_at', later);
    expect(await keys()).toEqual([]);
  });
});

test('rows with cleaned values are counted by table', async () => {
  await withDatabase(async database => {
    await database.query(
      `insert into warehouse.customers (id, _extra, _synced_at, _read_at) values
        (1, '{"(cleaned)":{"email":2}}', now(), now()), (2, '{"other":1}', now(), now()), (3, null, now(), now())`,
    );
    expect(await countCleaned(database.kysely, 'warehouse', ['customers', 'invoices', 'invoice_items'])).toEqual([
      { table: 'customers', rows: 1 },
    ]);
  });
});
