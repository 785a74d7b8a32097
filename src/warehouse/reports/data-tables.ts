import { sql } from 'kysely';
import type { Db } from '../database/database.ts';

interface TableInfo {
  readonly name: string;
  readonly comment: string | null;
}

/** The tables of a schema that hold data, by name. */
const listTables = (db: Db, schema: string): Promise<TableInfo[]> => listRelations(db, schema, ['r', 'p']);

/** The views of a schema, by name. */
export const listViews = (db: Db, schema: string): Promise<TableInfo[]> => listRelations(db, schema, ['v', 'm']);

/** SQL: the catalog. */
async function listRelations(db: Db, schema: string, kinds: readonly string[]): Promise<TableInfo[]> {
  const { rows } = await sql<TableInfo>`
    select c.relname as name, obj_description(c.oid, 'pg_class') as comment from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relkind::text = any(${kinds}) order by 1`.execute(db);
  return rows;
}

/** Larger tables take a while to count. */
const MOST_COUNTED_BYTES = 8 * 2 ** 20;

export interface TableSize extends TableInfo {
  /** Null where Postgres has estimated none yet. */
  readonly rows: number | null;
  /** Counted now, or `known`; otherwise Postgres' last estimate. */
  readonly isExact: boolean;
}

/** The tables of a schema that this login may read, by name, or `only` this one. `known`: rows that are counted already. SQL: the catalog. */
export async function measureTables(
  db: Db,
  schema: string,
  { known, only = null }: { readonly known: ReadonlyMap<string, number>; readonly only?: string | null },
): Promise<TableSize[]> {
  const { rows } = await sql<TableInfo & { isSmall: boolean; estimate: number | null }>`
    select c.relname as name, obj_description(c.oid, 'pg_class') as comment, nullif(c.reltuples, -1)::float8 as estimate,
      c.relkind = 'r' and pg_relation_size(c.oid) <= ${MOST_COUNTED_BYTES} as "isSmall"
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relkind in ('r', 'p') and c.relname = coalesce(${only}::text, c.relname)
      and has_table_privilege(c.oid, 'select') order by 1`.execute(db);
  const small = rows.filter(({ name, isSmall }) => isSmall && !known.has(name)).map(({ name }) => name);
  const counts = await countTables(db, schema, small);
  const exact = new Map([...known, ...small.map((name, place) => [name, counts[place] ?? 0] as const)]);
  return rows.map(({ name, comment, estimate }) => ({
    ...{ name, comment, rows: exact.get(name) ?? estimate },
    isExact: exact.has(name),
  }));
}

/** In the order of `tables`. SQL: tables known at run time. */
export async function countTables(db: Db, schema: string, tables: readonly string[]): Promise<number[]> {
  if (tables.length === 0) return [];
  const counts = tables.map(table => sql`(select count(*) from ${sql.id(schema, table)})`);
  const { rows } = await sql<{ counts: number[] }>`select array[${sql.join(counts)}]::float8[] as counts`.execute(db);
  return rows[0]?.counts ?? [];
}

export interface ColumnOfTable {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly comment: string | null;
  readonly isKey: boolean;
  /** It is never null. */
  readonly required: boolean;
}

/** A table or view with its columns, in their order. */
export interface Relation extends TableInfo {
  readonly kind: 'table' | 'view';
  readonly columns: readonly ColumnOfTable[];
}

/** The tables of a schema by name, then its views. */
export async function describeRelations(db: Db, schema: string): Promise<Relation[]> {
  const columns = await listColumns(db, schema, null);
  const relationsOf = (kind: Relation['kind'], found: readonly TableInfo[]): Relation[] =>
    found.map(each => ({ ...each, kind, columns: columns.filter(({ table }) => table === each.name) }));
  return [...relationsOf('table', await listTables(db, schema)), ...relationsOf('view', await listViews(db, schema))];
}

/** The columns of a table or view, or of all of a schema by name, in their order. SQL: the catalog. */
export async function listColumns(db: Db, schema: string, table: string | null): Promise<ColumnOfTable[]> {
  const { rows } = await sql<ColumnOfTable>`
    select c.relname as table, a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
      col_description(c.oid, a.attnum) as comment, coalesce(a.attnum = any(i.indkey), false) as "isKey",
      a.attnotnull as required
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
    left join pg_index i on i.indrelid = c.oid and i.indisprimary
    where n.nspname = ${schema} and c.relkind::text in ('r', 'p', 'v', 'm') and c.relname = coalesce(${table}::text, c.relname)
      and a.attnum > 0 and not a.attisdropped order by c.relname, a.attnum`.execute(db);
  return rows;
}

/** The longest text of a cell; the record's own page has all of it. */
const MOST_CHARACTERS = 200;

/** The rows that changed last or, in a table that does not tell, those with the highest keys; as texts. SQL: a table known at run time. */
export async function newestRows(
  db: Db,
  { schema, name }: { schema: string; name: string },
  columns: readonly ColumnOfTable[],
  most: number,
): Promise<Record<string, string | null>[]> {
  const names = columns.map(column => column.name);
  const order = ['_synced_at', 'valid_to'].filter(column => names.includes(column));
  const by = order.length > 0 ? order : columns.filter(({ isKey }) => isKey).map(column => column.name);
  const { rows } = await sql<Record<string, string | null>>`
    select ${sql.join(columns.map(column => sql`left(${sql.id(column.name)}::text, ${sql.lit(MOST_CHARACTERS)}) as ${sql.id(column.name)}`))}
    from ${sql.id(schema, name)} t
    ${by.length === 0 ? sql`` : sql`order by ${sql.join(by.map(column => sql`${sql.id('t', column)} desc`))}`} limit ${most}`.execute(
    db,
  );
  return rows;
}
