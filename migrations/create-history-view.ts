import { type QueryExecutorProvider, sql } from 'kysely';

interface Child {
  /** The field of the record that lists its items. */
  readonly field: string;
  readonly table: string;
  readonly parent: string;
}

/** The comments of a history view, and of the columns that its table lacks. */
export const historyComment = (table: string): string =>
  `Every version of the rows of ${table}: earlier ones of the last 31 days, or since HISTORY_${table.toUpperCase()} is on, deleted ones, and the current ones.`;
export const childComment = (table: string): string => `Its rows of ${table}, in their order.`;
export const VERSION_COMMENTS = {
  valid_from: 'When this version was stored.',
  valid_to: 'When it was deleted or changed; null for the current version.',
  ended_by: 'deleted or changed; null for the current version.',
} as const;

/**
 * For a table of the warehouse: the view `<table>_history` with every version of its rows, those that ended and the current ones, and the
 * function `<table>_as_of(moment)`. Earlier versions are there for 31 days, or since history was switched on; deleted rows always are. An
 * existing view keeps its columns in their order, and so the views that are built on it; new ones follow.
 */
export async function createHistoryView(
  db: QueryExecutorProvider,
  table: string,
  ...given: readonly (Child | undefined)[]
): Promise<void> {
  const children = given.filter(child => child !== undefined);
  const view = `${table}_history`;
  const stored = await columnsOf(db, table);
  const key = stored.find(({ isKey }) => isKey)?.name ?? '';
  const columns = [
    ...stored
      .filter(({ name }) => name !== '_hash')
      .map(({ name }) => ({ name, ended: sql`r.${sql.id(name)}`, current: sql`t.${sql.id(name)}` })),
    ...children.map(({ field, table: child, parent }) => ({
      name: field,
      ended: sql`h.row->${sql.lit(field)}`,
      current: sql`(select coalesce(jsonb_agg(to_jsonb(i) - ${sql.lit(parent)}::text order by i.line), '[]')
        from ${sql.id(child)} i where i.${sql.id(parent)} = t.${sql.id(key)})`,
    })),
    { name: 'valid_from', ended: sql`h.valid_from`, current: sql`t._synced_at` },
    { name: 'valid_to', ended: sql`h.valid_to`, current: sql`null` },
    { name: 'ended_by', ended: sql`h.ended_by`, current: sql`null` },
  ];
  const before = await columnsOf(db, view);
  const shown = [
    ...before.map(({ name, type }) => {
      const absent = sql`null::${sql.raw(type)}`;
      return columns.find(column => column.name === name) ?? { name, ended: absent, current: absent };
    }),
    ...columns.filter(({ name }) => before.every(each => each.name !== name)),
  ];
  await sql`create or replace view ${sql.id(view)} as
    select ${sql.join(shown.map(({ name, ended }) => sql`${ended} as ${sql.id(name)}`))}
    from row_history h cross join lateral jsonb_populate_record(null::${sql.id(table)}, h.row) r where h.resource = ${sql.lit(table)}
    union all select ${sql.join(shown.map(({ name, current }) => sql`${current} as ${sql.id(name)}`))} from ${sql.id(table)} t`.execute(
    db,
  );
  await sql`create or replace function ${sql.id(`${table}_as_of`)}(moment timestamptz) returns setof ${sql.id(view)} language sql stable parallel safe
    begin atomic
      select * from ${sql.id(view)} where valid_from <= moment and (valid_to is null or moment < valid_to);
    end`.execute(db);
  await sql`comment on view ${sql.id(view)} is ${sql.lit(historyComment(table))}`.execute(db);
  await sql`comment on function ${sql.id(`${table}_as_of`)} is ${sql.lit(`The rows of ${table} as they were stored at that moment.`)}`.execute(
    db,
  );
  const comments = {
    ...VERSION_COMMENTS,
    ...Object.fromEntries(children.map(child => [child.field, childComment(child.table)])),
  };
  for (const [column, text] of Object.entries(comments))
    await sql`comment on column ${sql.id(view, column)} is ${sql.lit(text)}`.execute(db);
}

async function columnsOf(
  db: QueryExecutorProvider,
  table: string,
): Promise<{ name: string; type: string; isKey: boolean }[]> {
  const { rows } = await sql<{ name: string; type: string; isKey: boolean }>`
    select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, coalesce(a.attnum = any(i.indkey), false) as "isKey"
    from pg_class c join pg_attribute a on a.attrelid = c.oid left join pg_index i on i.indrelid = c.oid and i.indisprimary
    where c.relnamespace = current_schema()::regnamespace and c.relname = ${table} and a.attnum > 0 and not a.attisdropped
    order by a.attnum`.execute(db);
  return rows;
}
