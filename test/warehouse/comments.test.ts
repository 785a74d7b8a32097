import { expect, test } from 'vitest';
import { declareTable } from '../../src/engine/records/declare-table.ts';
import { writeComments } from '../../src/warehouse/database/comments.ts';
import { MIGRATIONS, withDatabase } from '../support/database.ts';
import { JOBS } from '../support/resources.ts';

const { lists } = MIGRATIONS;

test('every table, view and column of both schemas has a comment', async () => {
  await withDatabase(async database => {
    await writeComments(database, ['warehouse'], lists);
    const { rows } = await database.query<{ name: string }>(
      `select c.relnamespace::regnamespace || '.' || c.relname || coalesce('.' || a.attname, '') as name
      from pg_class c cross join lateral (select 0 as attnum, null::name as attname union all
        select attnum, attname from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped) a
      where c.relnamespace in ('warehouse'::regnamespace, 'sluice'::regnamespace) and c.relkind in ('r', 'p', 'v', 'm')
        and c.relname !~ '^migrations' and coalesce(col_description(c.oid, a.attnum), case a.attnum when 0 then obj_description(c.oid) end) is null
      order by 1`,
    );
    expect(rows).toEqual([]);
  });
});

test('comments follow the job, and are written only where they differ', async () => {
  await withDatabase(async database => {
    await writeComments(database, ['warehouse'], lists);
    await database.query(`comment on column warehouse.row_history.key is 'of ours'`);
    const written = async () =>
      (
        await database.query(`select objoid, objsubid, description, d.xmin from pg_description d
          join pg_class c on c.oid = d.objoid where relnamespace = 'warehouse'::regnamespace order by 1, 2`)
      ).rows;
    const before = await written();
    await writeComments(database, ['warehouse'], lists);
    expect(await written()).toEqual(before);
    const other = `Or "state", the source's word`;
    const changed = { ...declareTable('invoices', JOBS.invoices), comment: "The source's invoices." };
    const columns = changed.columns.map(column => (column.name === 'status' ? { ...column, comment: other } : column));
    const absent = { ...changed, name: 'absent', children: [] };
    const more = {
      ...changed,
      columns: [...columns, { name: 'absent', type: 'text', comment: 'no column', required: false }],
    };
    await writeComments(database, ['warehouse', 'absent'], [more, absent]);
    const { rows } = await database.query(
      `select obj_description('warehouse.invoices'::regclass) as table, col_description('warehouse.invoices'::regclass, attnum) as column
      from pg_attribute where attrelid = 'warehouse.invoices'::regclass and attname = 'status'`,
    );
    expect(rows).toEqual([{ table: "The source's invoices.", column: other }]);
    expect(JSON.stringify(await written())).toContain('of ours');
  });
});
