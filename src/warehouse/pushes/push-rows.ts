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

/** What is left of the ids that were stored before some lines were sent; null: none. */
export interface HighestIds {
  /** The highest id of a row that is there and has not changed since: a source may have issued those above it since. */
  readonly keptId: string | null;
  /** The highest id of a row that is there. */
  readonly presentId: string | null;
}

export async function highestIds(
  db: Db,
  place: { source: string; resource: string },
  table: Table,
  lastAt: string | null,
): Promise<HighestIds> {
  const id = sql.id(table.id.name);
  // One index look-up in most cases: the newest row is there and unchanged.
  const highest = (condition: RawBuilder<boolean>) => sql`(select t.${id}::text from ${target(table)} t
    where t.${id} is not null and ${condition} and not exists (select from sluice.missing m where m.source = ${place.source}
      and m.resource = ${place.resource} and m.key = t.${sql.id(table.key.name)}::text) order by t.${id} desc limit 1)`;
  const { rows } = await sql<HighestIds>`
    select ${highest(sql`t._synced_at <= cast(${lastAt} as timestamptz)`)} as "keptId", ${highest(sql`true`)} as "presentId"`.execute(
    db,
  );
  return rows[0] as HighestIds;
}

/** Marks created lines as found whose answered id is stored by now, by a row that is new or has changed since: ids may be issued again. */
export async function findById(db: Db, pushId: string, table: Table): Promise<void> {
  await sql`update sluice.push_items i set row_key = t.${sql.id(table.key.name)}::text, found_at = sluice.now()
    from ${target(table)} t where i.push_id = cast(${pushId} as bigint) and i.state = 'created' and i.row_key is null
      and t.${sql.id(table.id.name)}::text = i.source_id
      and (i.last_id is null or t.${sql.id(table.id.name)} > i.last_id or t._synced_at > i.last_at)`.execute(db);
}

export interface NewRow {
  readonly key: string;
  /** Null where the source assigns none. */
  readonly id: string | null;
  readonly storedAt: string;
  /** The row with its child rows, as JSON. */
  readonly row: Readonly<Record<string, unknown>>;
}

/**
 * Rows that no line has been matched with yet and that are new since `before`, oldest first; `changed`: also those that have changed since.
 * With an id that was stored before, a row is new only if it has changed since and no row above it was there before and is still.
 */
export async function newRows(
  db: Db,
  place: { source: string; resource: string },
  table: Table,
  before: { lastId: string | null; keptId: string | null; lastAt: string | null },
  { changed = false }: { changed?: boolean } = {},
): Promise<NewRow[]> {
  const lists = table.children.map(
    child => sql`jsonb_build_object(${child.field}::text, (select coalesce(jsonb_agg(to_jsonb(c) order by c.line), '[]')
      from ${sql.id(table.schema, child.name)} c where c.${sql.id(child.parent)} = t.${sql.id(table.key.name)}))`,
  );
  const whole = lists.reduce<RawBuilder<unknown>>((row, list) => sql`${row} || ${list}`, sql`to_jsonb(t)`);
  const id = sql`t.${sql.id(table.id.name)}`;
  const above = (than: string | null) => sql`${id} > coalesce(cast(${than} as bigint), -9223372036854775808)`;
  const { rows } = await sql<NewRow>`
    select t.${sql.id(table.key.name)}::text as key, ${id}::text as id, t._synced_at::text as "storedAt", ${whole} as row from ${target(table)} t
    where (${above(before.lastId)} or (t._synced_at > coalesce(cast(${before.lastAt} as timestamptz), '-infinity')
        and (${id} is null or ${changed} or ${above(before.keptId)})))
      and not exists (select from sluice.push_items i where i.source = ${place.source} and i.resource = ${place.resource}
        and i.row_key = t.${sql.id(table.key.name)}::text)
    order by ${id}, t.${sql.id(table.key.name)}`.execute(db);
  return rows;
}
