import { expect, test } from 'vitest';
import { BOOKKEEPING_TABLES } from '../../../src/warehouse/database/bookkeeping-tables.ts';
import { withDatabase } from '../../support/database.ts';

/** Kysely's migrator makes and reads these by itself. */
const OF_THE_MIGRATOR = /^sluice\.migrations/;

const COLUMNS = `
  select 'sluice.' || c.relname as table, a.attname as column,
    format_type(a.atttypid, a.atttypmod)
      || coalesce((select ' in ' || string_agg(word[1], '|' order by nth)
           from pg_constraint k, regexp_matches(pg_get_constraintdef(k.oid), '''([^'']+)''::text', 'g') with ordinality as m(word, nth)
           where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]), '')
      || case when a.attidentity <> '' then ' identity' when not a.attnotnull then ' null' when a.atthasdef then ' default' else '' end
      as declared
  from pg_attribute a join pg_class c on c.oid = a.attrelid
  where c.relnamespace = 'sluice'::regnamespace and c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped
  order by 1, a.attnum`;

test('every table and column of the migrated bookkeeping is declared with its type, and nothing else is', async () => {
  await withDatabase(async database => {
    const { rows } = await database.query<{ table: string; column: string; declared: string }>(COLUMNS);
    const migrated: Record<string, Record<string, string>> = {};
    for (const { table, column, declared } of rows)
      if (!OF_THE_MIGRATOR.test(table)) migrated[table] = { ...migrated[table], [column]: declared };
    expect(BOOKKEEPING_TABLES).toEqual(migrated);
  });
});

test('each type arrives as the declaration says', async () => {
  await withDatabase(async ({ kysely, query }) => {
    await query(`insert into sluice.coverage (source, resource, slice, date_from, id_from, proven_at, changed)
      values ('main', 'invoices', 'whole', '-infinity', 9007199254740993, '2026-03-29 01:30:00.123456+02', 0.5)`);
    await query(`insert into sluice.orders (source, resource, kind, report, created_at)
      values ('main', 'invoices', 'verify', '[1]', sluice.now())`);
    await query(`insert into sluice.webhooks values ('main', 'https://example.com', '{a,b}', sluice.now())`);
    const slice = await kysely
      .selectFrom('sluice.coverage')
      .select(['slice', 'date_from', 'id_from', 'proven_at', 'requests', 'changed'])
      .executeTakeFirstOrThrow();
    expect(slice).toEqual({
      slice: 'whole',
      date_from: '-infinity',
      id_from: '9007199254740993',
      proven_at: '2026-03-28 23:30:00.123456+00',
      requests: 1,
      changed: 0.5,
    });
    const order = await kysely.selectFrom('sluice.orders').select(['id', 'repair', 'report']).executeTakeFirst();
    expect(order).toEqual({ id: '1', repair: false, report: [1] });
    expect(await kysely.selectFrom('sluice.webhooks').select('events').execute()).toEqual([{ events: ['a', 'b'] }]);
  });
});
