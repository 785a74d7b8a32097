import { type RawBuilder, sql } from 'kysely';
import { anyOf } from '../database/arrays.ts';
import type { Db } from '../database/database.ts';
import { NOW } from '../database/now.ts';
import { takeOver } from '../ledgers/cursors.ts';
import type { Place } from '../ledgers/sources.ts';
import type { ChildTable, Table } from './tables.ts';
import { isLogged, logCtes, saysOther } from './write/change-log.ts';
import { childRowsByField, keepVersions } from './write/row-history.ts';

// SQL: the tables are known at run time.

export interface Undone {
  /** Rows that hold again what the runs replaced. */
  readonly replaced: number;
  /** Rows that the runs had deleted. */
  readonly deleted: number;
  /** Rows that another run, or somebody, has changed since. They stay as they are. */
  readonly changedSince: number;
  /** A few of their keys. */
  readonly keys: readonly string[];
  /** The keys of those that the runs had deleted. */
  readonly keysDeleted: readonly string[];
}

const MOST_KEYS = 5;
const UNDONE = sql.id('pg_temp', 'undone');

/**
 * Keeps all others from writing to these lists until the transaction ends. In the order in which a commit locks them: first the tables, by name,
 * then the cursors.
 */
export async function lockLists(tx: Db, source: string, lists: ReadonlyMap<string, Table>): Promise<void> {
  const byName = [...lists].sort(([a], [b]) => (a < b ? -1 : 1));
  const tables = byName.map(([, { schema, name }]) => sql.id(schema, name));
  await sql`lock table ${sql.join(tables)} in share row exclusive mode`.execute(tx);
  await tx
    .selectFrom('sluice.cursors')
    .select('resource')
    .where('source', '=', source)
    .where('resource', '=', anyOf([...lists.keys()]))
    .orderBy('resource')
    .forUpdate()
    .execute();
}

/**
 * Gathers, in a temporary table of this transaction, the rows that these runs replaced or deleted: each as it was before the first of them (`was`,
 * with its child rows by their field in `lines_were`; a column that the version lacks was added later, and keeps its value), and the child rows
 * that stand now (`lines`).
 */
export async function gatherUndone(tx: Db, table: Table, resource: string, runIds: readonly string[]): Promise<Undone> {
  // Only the end of a version is indexed. A clock that was put back may have moved it before the run.
  const history = sql`${sql.id(table.schema, 'row_history')} h where h.resource = ${resource} and h.run_id = any(cast(${runIds} as bigint[]))
    and h.valid_to >= (select min(started_at) - interval '1 day' from sluice.runs where id = any(cast(${runIds} as bigint[])))`;
  const target = sql.id(table.schema, table.name);
  // What was masked since is as it was otherwise: the version before it is one of no run.
  const writtenBeforeMask = sql`(select max(m.valid_from) from ${sql.id(table.schema, 'row_history')} m where m.resource = ${resource}
    and m.key = t.${sql.id(table.key.name)}::text and m.valid_to = t._synced_at and m.run_id is null)`;
  const columns = [table.key.name, ...contentOf(table), '_synced_at', '_read_at', '_hash'];
  await sql`drop table if exists pg_temp.undone`.execute(tx);
  // It may hold every row of the list, or a few: plans are made for what there is.
  await sql`select set_config('work_mem', '64MB', true), set_config('plan_cache_mode', 'force_custom_plan', true)`.execute(
    tx,
  );
  await sql`create temporary table undone on commit drop as
    with first as (select distinct on (h.key) h.key, h.ctid as at from ${history} order by h.key, h.valid_to, h.valid_from, h.ctid),
    last as (select distinct on (h.key) h.key, h.valid_to, h.ended_by from ${history} order by h.key, h.valid_to desc, h.valid_from desc, h.ctid desc),
    versions as (select cast(key as ${sql.raw(table.key.type)}) as key, f.at, l.valid_to, l.ended_by from first f join last l using (key) order by 1)
    select l.key, jsonb_populate_record(t, v.row) as was, v.row - ${columns}::text[] as lines_were,
      ${childRowsByField(table)} as lines, l.valid_to as until,
      case when t.${sql.id(table.key.name)} is null and l.ended_by = 'deleted' then 'deleted'
        when t._synced_at <= l.valid_to or ${writtenBeforeMask} <= l.valid_to then 'replaced' else 'since' end as what, n.at
    from (select sluice.now() as at offset 0) n cross join versions l join ${sql.id(table.schema, 'row_history')} v on v.ctid = l.at
    left join ${target} t on t.${sql.id(table.key.name)} = l.key`.execute(tx);
  await sql`create index on ${UNDONE} (key)`.execute(tx);
  await sql`analyze ${UNDONE}`.execute(tx);
  const { rows } = await sql<Undone>`
    select (count(*) filter (where what = 'replaced'))::int as replaced, (count(*) filter (where what = 'deleted'))::int as deleted,
      (count(*) filter (where what = 'since'))::int as "changedSince",
      coalesce((array_agg(key::text order by key) filter (where what = 'since'))[1:${sql.lit(MOST_KEYS)}], '{}') as keys,
      coalesce(array_agg(key::text) filter (where what = 'deleted'), '{}') as "keysDeleted"
    from ${UNDONE}`.execute(tx);
  return rows[0] as Undone;
}

/**
 * Restores what was gathered, each as of when the source showed it. What stood there until now becomes an earlier version, so that the undo can be
 * undone.
 */
export async function restoreUndone(tx: Db, table: Table, { source, resource }: Place, undoId: string): Promise<void> {
  const target = sql.id(table.schema, table.name);
  const history = sql.id(table.schema, 'row_history');
  const key = sql.id(table.key.name);
  // One moment for all, so that this run seems to be the last that changed them.
  const now = sql.ref('u.at');
  const content = contentOf(table);
  const were = sql.join(content.map(name => sql`(u.was).${sql.id(name)}`));
  const named = (names: readonly string[]) => sql.join(names.map(name => sql.id(name)));
  const shown = content.filter(name => name !== '_hash');
  const differs = sql.join([saysOther(table, shown), ...table.children.map(linesOther)], sql` or `);
  // What was done here did not happen at the source at any moment. One run may have made good what another had changed.
  await sql`with changed as materialized (
      select u.key::text as key, case u.what when 'replaced' then 'updated' else 'revived' end as kind, null::timestamptz as earliest
      from ${UNDONE} u left join ${target} t on t.${key} = u.key cross join lateral (select (u.was).*) c
      where ${isLogged(source, resource)} and (u.what = 'deleted' or u.what = 'replaced' and (${differs}))),
    ${logCtes(table, { resource, runId: undoId, at: sql`(select at from ${UNDONE} limit 1)` })}
    ${keepVersions(table, resource, { by: 'changed', at: now, runId: undoId, number: sql`n.number`, lines: sql.ref('u.lines') })}
    from ${UNDONE} u join ${target} t on t.${key} = u.key left join numbered n on n.key = u.key::text where u.what = 'replaced'`.execute(
    tx,
  );
  const given = named([...content, '_synced_at', '_read_at']);
  await sql`update ${target} t set (${given}) = row(${were}, ${now}, least((u.was)._read_at, ${now}))
    from ${UNDONE} u where u.what = 'replaced' and t.${key} = u.key`.execute(tx);
  await sql`insert into ${target} (${key}, ${given})
    select u.key, ${were}, ${now}, least((u.was)._read_at, ${now}) from ${UNDONE} u where u.what = 'deleted'`.execute(
    tx,
  );
  // What was restored is not lost, so it must not count as deleted.
  await sql`update ${history} h set ended_by = 'changed' from ${UNDONE} u
    where u.what = 'deleted' and h.resource = ${resource} and h.key = u.key::text and h.valid_to = u.until and h.ended_by = 'deleted'`.execute(
    tx,
  );
  for (const child of table.children) await restoreChildren(tx, table, child);
  // What the source lacks of these rows is judged anew.
  await sql`delete from sluice.held h where h.source = ${source} and h.resource = ${resource}
    and exists (select from ${UNDONE} u where u.key = cast(h.key as ${sql.raw(table.key.type)}) and u.what <> 'since')`.execute(
    tx,
  );
}

/** The columns that an undo restores, without the key. */
const contentOf = (table: Table): string[] =>
  [...table.columns.map(({ name }) => name), '_extra', ...(table.hashed ? ['_hash'] : [])].filter(
    name => name !== table.key.name,
  );

/** As texts: numbers may differ in their decimals alone. Null of a version without the field. */
const linesOther = ({ field }: ChildTable): RawBuilder<unknown> =>
  sql`(u.lines_were->${field}::text)::text <> (u.lines->${field}::text)::text`;

/** Writes only the child rows that differ. Of a version without the field, they stay: the field was added later. */
async function restoreChildren(tx: Db, table: Table, child: ChildTable): Promise<void> {
  const target = sql.id(table.schema, child.name);
  const parent = sql.id(child.parent);
  const names = ['line', ...child.columns.map(({ name }) => name), '_extra'];
  const were = sql`u.lines_were->${child.field}::text`;
  const differ = sql`u.what <> 'since' and ${linesOther(child)}`;
  await sql`delete from ${target} c using ${UNDONE} u where ${differ} and c.${parent} = u.key`.execute(tx);
  await sql`insert into ${target} (${parent}, ${sql.join(names.map(name => sql.id(name)))})
    select u.key, ${sql.join(names.map(name => sql.ref(`r.${name}`)))}
    from ${UNDONE} u cross join lateral jsonb_populate_recordset(null::${target}, ${were}) r where ${differ}`.execute(
    tx,
  );
}

/**
 * Makes the slices due that hold restored rows, and takes the cursor over: no answer under way writes, and readings begin anew, since what they have
 * shown was compared with what stood there before. `slices`: by their text, and
 * which rows `t` each holds; null for all.
 */
export async function makeDueAndTakeOver(
  tx: Db,
  table: Table,
  { source, resource }: Place,
  slices: readonly { readonly slice: string; readonly holds: RawBuilder<boolean> | null }[],
  dueReason: string,
): Promise<number> {
  const restored = (holds: RawBuilder<boolean> | null) => sql<boolean>`exists (select from ${UNDONE} u
    join ${sql.id(table.schema, table.name)} t on t.${sql.id(table.key.name)} = u.key
    where u.what <> 'since'${holds === null ? sql`` : sql` and ${holds}`})`;
  let due = 0;
  for (const { slice, holds } of slices) {
    const { numUpdatedRows } = await tx
      .updateTable('sluice.coverage')
      .set({ due_since: NOW, due_reason: dueReason })
      .where('source', '=', source)
      .where('resource', '=', resource)
      .where('slice', '=', slice)
      .where('proven_at', 'is not', null)
      .where(restored(holds))
      .executeTakeFirst();
    due += Number(numUpdatedRows);
  }
  await takeOver(tx, { source, resource });
  return due;
}
