import { sql } from 'kysely';
import type { Db } from '../database/database.ts';

/** Rows that refer to a record. */
export interface Reference {
  readonly resource: string;
  readonly rows: number;
  /** The first of their keys. */
  readonly keys: readonly string[];
}

const MOST_KEYS = 5;

/** Counts the rows of these tables, stored or deleted, whose `column` is `id`. SQL: tables known at run time. */
export async function findReferences(
  db: Db,
  { schema, column, id }: { schema: string; column: string; id: string },
): Promise<Reference[]> {
  const { rows: tables } = await sql<{ name: string; key: string; type: string }>`
    select c.relname as name, k.attname as key, format_type(a.atttypid, a.atttypmod) as type from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = ${column}
    join pg_index i on i.indrelid = c.oid and i.indisprimary and i.indnkeyatts = 1
    join pg_attribute k on k.attrelid = c.oid and k.attnum = i.indkey[0]
    where c.relnamespace = ${schema}::regnamespace and not a.attisdropped order by 1`.execute(db);
  const found: Reference[] = [];
  for (const { name, key, type } of tables) {
    if (type === 'bigint' && !/^-?\d{1,18}$/.test(id)) continue;
    const { rows } = await sql<Omit<Reference, 'resource'>>`
      select count(*)::int as rows, coalesce((array_agg(key order by length(key), key))[1:${sql.lit(MOST_KEYS)}], '{}') as keys from (
        select ${sql.id(key)}::text as key from ${sql.id(schema, name)} where ${sql.id(column)} = cast(${id} as ${sql.raw(type)})
        union all select key from ${sql.id(schema, 'row_history')} where resource = ${name} and row->>${column} = ${id}) r`.execute(
      db,
    );
    if (rows[0] && rows[0].rows > 0) found.push({ resource: name, ...rows[0] });
  }
  return found;
}

/** The rows of each table of the warehouse, of the quarantine and of pushed lines that hold one of these texts. It scans every table. */
export async function findMentions(
  db: Db,
  { source, schema, texts }: { source: string; schema: string; texts: readonly string[] },
): Promise<{ table: string; rows: number }[]> {
  if (texts.length === 0) return [];
  const { rows: tables } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = ${schema} order by 1`.execute(db);
  const places = [
    ...tables.map(({ name }) => ({ table: `${schema}.${name}`, from: sql.id(schema, name), where: sql`true` })),
    ...['quarantine', 'push_items'].map(name => ({
      table: `sluice.${name}`,
      from: sql.id('sluice', name),
      where: sql`t.source = ${source}`,
    })),
  ];
  const found: { table: string; rows: number }[] = [];
  for (const { table, from, where } of places) {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from ${from} t where ${where}
      and exists (select from unnest(cast(${[...texts]} as text[])) m(text) where position(lower(m.text) in lower(t::text)) > 0)`.execute(
      db,
    );
    if (rows[0] && rows[0].count > 0) found.push({ table, rows: rows[0].count });
  }
  return found;
}
