import { type RawBuilder, sql } from 'kysely';
import { arrayOf } from '../../database/arrays.ts';
import type { Db } from '../../database/database.ts';
import type { Place } from '../../ledgers/sources.ts';
import type { ChildTable, Table } from '../tables.ts';
import { isLogged, logCtes } from './change-log.ts';

/** The child rows of `t` in their order, as JSON without their parent. */
export const childRows = (table: Table, child: ChildTable): RawBuilder<unknown> =>
  sql`(select coalesce(jsonb_agg(to_jsonb(c) - ${child.parent}::text order by c.line), '[]')
    from ${sql.id(table.schema, child.name)} c where c.${sql.id(child.parent)} = t.${sql.id(table.key.name)})`;

/** The child rows of `t` in lists by their field, as JSON. */
export function childRowsByField(table: Table): RawBuilder<unknown> {
  const children = table.children.map(child => sql`${child.field}::text, ${childRows(table, child)}`);
  return sql`jsonb_build_object(${sql.join(children)})`;
}

/** A stored row as `row_history` keeps it: all columns of `t` as JSON, with its child rows in a list by their field. */
export const wholeRow = (table: Table, lines = childRowsByField(table)): RawBuilder<unknown> =>
  sql`to_jsonb(t) || ${lines}`;

/** Keeps the rows `t` of the `from` that follows, with their children, as versions that end at `at`. SQL: an insert without its source of rows. */
export const keepVersions = (
  table: Table,
  resource: string,
  ended: {
    readonly by: 'changed' | 'deleted';
    readonly at: RawBuilder<unknown>;
    readonly runId: string | null;
    /** The number of the change that ends it; null where it is not logged. */
    readonly number: RawBuilder<unknown>;
    /** The child rows of `t` by their field, if they were gathered before. */
    readonly lines?: RawBuilder<unknown>;
  },
): RawBuilder<unknown> => sql`
  insert into ${sql.id(table.schema, 'row_history')} (resource, key, row, valid_from, valid_to, ended_by, run_id, number)
  select ${resource}, t.${sql.id(table.key.name)}::text, ${wholeRow(table, ended.lines)}, t._synced_at, ${ended.at}, ${ended.by}, cast(${ended.runId} as bigint),
    ${ended.number}`;

/**
 * Keeps and logs rows that are about to be deleted; returns the keys of those that are stored. A missing row was last there when a reading of its
 * slice showed it: its own address, from which it may have been written since, may show deleted rows, too.
 */
export async function copyToHistory(
  tx: Db,
  table: Table,
  { source, resource }: Place,
  { keys, runId, lagMs }: { keys: readonly string[]; runId: string | null; lagMs: number },
): Promise<string[]> {
  const key = sql.id(table.key.name);
  const now = sql`(select now from moment)`;
  const { rows } = await sql<{ key: string }>`
    with moment as materialized (select sluice.now() as now),
    gone as materialized (
      select t.* from unnest(${arrayOf(table.key.type, keys)}) as k(key) join ${sql.id(table.schema, table.name)} t on t.${key} = k.key),
    changed as materialized (
      select t.${key}::text as key, 'deleted' as kind,
        case when m.key is null then t._read_at else m.proven_before end - make_interval(secs => ${lagMs / 1000}::float8) as earliest
      from gone t left join sluice.missing m on m.source = ${source} and m.resource = ${resource} and m.key = t.${key}::text
      where ${isLogged(source, resource)}),
    ${logCtes(table, { resource, runId, at: now })}
    ${keepVersions(table, resource, { by: 'deleted', at: now, runId, number: sql`n.number` })}
    from gone t left join numbered n on n.key = t.${key}::text
    returning key`.execute(tx);
  return rows.map(row => row.key);
}

/** Columns that say when a row was stored and read, and of which record; not what it is. */
export const OURS = sql`'{_synced_at,_read_at,_hash}'::text[]`;

/**
 * For rows that are back as they were, with their child rows, the deleted one becomes an earlier version. Returns their keys. A row that
 * differs may be another record to which the source has issued the id again: what is known of the deleted one stays, as does everything before
 * the latest version. `volatile`: unknown fields in which it may differ.
 */
export async function reviveRows(
  tx: Db,
  table: Table,
  resource: string,
  returned: readonly string[],
  volatile: readonly string[] = [],
): Promise<string[]> {
  // Of what is compared, not of what is kept.
  const compared = (row: string) => {
    const own = sql`${sql.ref(row)} - ${OURS}`;
    return volatile.length === 0
      ? sql`jsonb_strip_nulls(${own})`
      : sql`jsonb_strip_nulls(${own} || jsonb_build_object('_extra', nullif(nullif(${own} -> '_extra', 'null') - ${arrayOf('text', volatile)}, '{}')))`;
  };
  const history = sql.id(table.schema, 'row_history');
  const key = sql.id(table.key.name);
  const { rows } = await sql<{ key: string }>`
    with back as (select t.${key}::text as key, (${wholeRow(table)}) - ${OURS} as row
      from unnest(${arrayOf(table.key.type, returned)}) as k(key) join ${sql.id(table.schema, table.name)} t on t.${key} = k.key)
    update ${history} h set ended_by = 'changed' from back b
    where h.resource = ${resource} and h.key = b.key and h.ended_by = 'deleted' and ${compared('h.row')} = ${compared('b.row')}
      and not exists (select from ${history} l where l.resource = h.resource and l.key = h.key and l.valid_to > h.valid_to)
    returning h.key`.execute(tx);
  return rows.map(row => row.key);
}
