import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import type { Place } from '../ledgers/sources.ts';
import { isQuarantined } from '../rows/quarantine.ts';
import type { Table } from '../rows/tables.ts';

/** What is known of a record without asking its source. */
export interface RecordState {
  readonly isStored: boolean;
  /** Stored, though the last reading of its slice lacked it. */
  readonly isMissing: boolean;
  /** In quarantine, and still shown by the source as far as known. */
  readonly isQuarantined: boolean;
}

/** SQL: tables known at run time. */
export async function readRecordState(db: Db, table: Table, place: Place, key: string): Promise<RecordState> {
  const { rows } = await sql<{ isStored: boolean; isMissing: boolean }>`
    select exists (select from ${sql.id(table.schema, table.name)} t where t.${sql.id(table.key.name)} = cast(${key} as ${sql.raw(table.key.type)})) as "isStored",
      exists (select from sluice.missing where source = ${place.source} and resource = ${place.resource} and key = ${key}) as "isMissing"`.execute(
    db,
  );
  const { isStored = false, isMissing = false } = rows[0] ?? {};
  return { isStored, isMissing, isQuarantined: await isQuarantined(db, place, key) };
}

/** Every stored version of a record: its row, deleted and earlier ones, those of closed months, pushed lines, and what is in quarantine, as JSON or as text. */
export async function readCopies(db: Db, table: Table, place: Place, key: string): Promise<unknown[]> {
  const { rows } = await sql<{ copy: unknown }>`
    select to_jsonb(t) as copy from ${sql.id(table.schema, table.name)} t where t.${sql.id(table.key.name)} = cast(${key} as ${sql.raw(table.key.type)})
    union all select row from ${sql.id(table.schema, 'row_history')} where resource = ${place.resource} and key = ${key}
    union all select row from sluice.sealed_rows where resource = ${place.resource} and key = ${key} and row is not null
      and seal_id in (select id from sluice.seals where source = ${place.source})
    union all select to_jsonb(payload) from sluice.quarantine where source = ${place.source} and resource = ${place.resource} and key = ${key}
    union all select body from sluice.push_items where source = ${place.source} and resource = ${place.resource}
      and (row_key = ${key} or source_id = ${key})`.execute(db);
  return rows.map(({ copy }) => copy);
}

/** Rows that refer to a record. */
export interface Reference {
  readonly resource: string;
  readonly rows: number;
  /** The first of their keys. */
  readonly keys: readonly string[];
}

const MOST_KEYS = 5;

/**
 * Counts the rows that refer to the record `id` of `resource` by a column such as `customer_id`; with `versions`, also earlier and deleted ones, which
 * reads all that is kept of their lists. SQL: tables known at run time.
 */
export async function findReferences(
  db: Db,
  { schema, resource, id, versions }: { schema: string; resource: string; id: string; versions: boolean },
): Promise<Reference[]> {
  const column = `${resource.replace(/s$/, '')}_id`;
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
        ${versions ? sql`union all select key from ${sql.id(schema, 'row_history')} where resource = ${name} and row->>${column} = ${id}` : sql``}) r`.execute(
      db,
    );
    if (rows[0] && rows[0].rows > 0) found.push({ resource: name, ...rows[0] });
  }
  return found;
}

/** The rows of each table of the warehouse, of closed months, of the quarantine and of pushed lines that hold one of these texts. It scans every table. */
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
    {
      table: 'sluice.sealed_rows',
      from: sql.id('sluice', 'sealed_rows'),
      where: sql`t.seal_id in (select id from sluice.seals where source = ${source})`,
    },
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
