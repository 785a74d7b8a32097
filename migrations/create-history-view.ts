import { type QueryExecutorProvider, sql } from 'kysely';

interface Child {
  /** The field of the record that lists its items. */
  readonly field: string;
  readonly table: string;
  readonly parent: string;
}

/**
 * For a table of the warehouse: the view `<table>_history` with every version of its rows, those that ended and the current ones, and the
 * function `<table>_as_of(moment)`. Earlier versions are there since history was switched on; deleted rows always are.
 */
export async function createHistoryView(db: QueryExecutorProvider, table: string, child?: Child): Promise<void> {
  const { rows } = await sql<{ name: string; isKey: boolean }>`
    select a.attname as name, coalesce(a.attnum = any(i.indkey), false) as "isKey" from pg_class c
    join pg_attribute a on a.attrelid = c.oid left join pg_index i on i.indrelid = c.oid and i.indisprimary
    where c.relnamespace = current_schema()::regnamespace and c.relname = ${table} and a.attnum > 0 and not a.attisdropped
      and a.attname <> '_hash' order by a.attnum`.execute(db);
  const columns = (alias: string) => sql.join(rows.map(({ name }) => sql`${sql.id(alias, name)}`));
  const key = rows.find(({ isKey }) => isKey)?.name ?? '';
  const items = child && {
    ended: sql`, h.row->${sql.lit(child.field)} as ${sql.id(child.field)}`,
    current: sql`, (select coalesce(jsonb_agg(to_jsonb(i) - ${sql.lit(child.parent)}::text order by i.line), '[]')
      from ${sql.id(child.table)} i where i.${sql.id(child.parent)} = t.${sql.id(key)}) as ${sql.id(child.field)}`,
  };
  const view = `${table}_history`;
  await sql`create or replace view ${sql.id(view)} as
    select ${columns('r')}${items?.ended ?? sql``}, h.valid_from, h.valid_to, h.ended_by
    from row_history h cross join lateral jsonb_populate_record(null::${sql.id(table)}, h.row) r where h.resource = ${sql.lit(table)}
    union all select ${columns('t')}${items?.current ?? sql``}, t._synced_at, null, null from ${sql.id(table)} t`.execute(
    db,
  );
  await sql`create or replace function ${sql.id(`${table}_as_of`)}(moment timestamptz) returns setof ${sql.id(view)} language sql stable parallel safe
    begin atomic
      select * from ${sql.id(view)} where valid_from <= moment and (valid_to is null or moment < valid_to);
    end`.execute(db);
  await sql`comment on view ${sql.id(view)} is ${sql.lit(`Every version of the rows of ${table}: earlier ones since HISTORY_${table.toUpperCase()} is on, deleted ones, and the current ones.`)}`.execute(
    db,
  );
  await sql`comment on function ${sql.id(`${table}_as_of`)} is ${sql.lit(`The rows of ${table} as they were stored at that moment.`)}`.execute(
    db,
  );
  const comments = {
    valid_from: 'When this version was stored.',
    valid_to: 'When it was deleted or changed; null for the current version.',
    ended_by: 'deleted or changed; null for the current version.',
    ...(child && { [child.field]: `Its rows of ${child.table}, in their order.` }),
  };
  for (const [column, text] of Object.entries(comments))
    await sql`comment on column ${sql.id(view, column)} is ${sql.lit(text)}`.execute(db);
}
