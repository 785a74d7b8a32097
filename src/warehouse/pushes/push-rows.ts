import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../database/database.ts';
import type { Table } from '../rows/tables.ts';
import type { Before } from './pushes.ts';

const target = (table: Table) => sql.id(table.schema, table.name);

// SQL throughout: the tables are known at run time.

/** Marks what is stored now: newer rows have greater ids, and those without an id are stored later. */
export async function lastStored(db: Db, table: Table): Promise<Before> {
  const { rows } =
    await sql<Before>`select (select max(t.${sql.id(table.id.name)})::text from ${target(table)} t) as "lastId",
    sluice.now()::text as "lastAt"`.execute(db);
  return rows[0] as Before;
}

/** Marks created lines as found whose answered id is stored by now. */
export async function findById(db: Db, pushId: string, table: Table): Promise<void> {
  await sql`update sluice.push_items i set row_key = t.${sql.id(table.key.name)}::text, found_at = sluice.now()
    from ${target(table)} t where i.push_id = cast(${pushId} as bigint) and i.state = 'created' and i.row_key is null
      and t.${sql.id(table.id.name)}::text = i.source_id`.execute(db);
}

export interface NewRow {
  readonly key: string;
  /** Null where the source assigns none. */
  readonly id: string | null;
  /** The row with its child rows, as JSON. */
  readonly row: Readonly<Record<string, unknown>>;
}

/** Rows stored since `before` that no line has been matched with yet, oldest first. */
export async function newRows(
  db: Db,
  place: { source: string; resource: string },
  table: Table,
  before: { lastId: string | null; lastAt: string | null },
): Promise<NewRow[]> {
  const lists = table.children.map(
    child => sql`jsonb_build_object(${child.field}::text, (select coalesce(jsonb_agg(to_jsonb(c) order by c.line), '[]')
      from ${sql.id(table.schema, child.name)} c where c.${sql.id(child.parent)} = t.${sql.id(table.key.name)}))`,
  );
  const whole = lists.reduce<RawBuilder<unknown>>((row, list) => sql`${row} || ${list}`, sql`to_jsonb(t)`);
  const id = sql`t.${sql.id(table.id.name)}`;
  const { rows } = await sql<NewRow>`
    select t.${sql.id(table.key.name)}::text as key, ${id}::text as id, ${whole} as row from ${target(table)} t
    where (case when ${id} is null then t._synced_at > coalesce(cast(${before.lastAt} as timestamptz), '-infinity')
        else ${id} > coalesce(cast(${before.lastId} as bigint), -9223372036854775808) end)
      and not exists (select from sluice.push_items i where i.source = ${place.source} and i.resource = ${place.resource}
        and i.row_key = t.${sql.id(table.key.name)}::text)
    order by ${id}, t.${sql.id(table.key.name)}`.execute(db);
  return rows;
}
