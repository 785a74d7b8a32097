import { sql } from 'kysely';
import { DAY } from '../../clock.ts';
import { type LossLimit, lossLimitOf } from '../../engine/deletion/loss-limit.ts';
import { anyOf } from '../database/arrays.ts';
import type { Db } from '../database/database.ts';
import type { Place } from '../ledgers/sources.ts';
import { wholeRow } from './row-history.ts';
import type { Table } from './tables.ts';

/** Stored values of a column, or child rows, that the source shows empty and that are kept. `field`: the column, or the child field. */
export interface HeldValues {
  readonly field: string;
  readonly rows: number;
  /** When the first of them was held, as Postgres writes it. */
  readonly since: string;
}

/** What is held of a resource, by field. */
export async function listHeld(db: Db, { source, resource }: Place): Promise<HeldValues[]> {
  return db
    .selectFrom('sluice.held')
    .select(({ fn }) => ['field', fn.countAll<number>().as('rows'), fn.min('since').as('since')])
    .where('source', '=', source)
    .where('resource', '=', resource)
    .groupBy('field')
    .orderBy('field')
    .execute()
    .then(rows => rows.map(row => ({ ...row, rows: Number(row.rows) })));
}

/** The fields of a row that are held, and since when. */
export function heldOf(
  db: Db,
  { source, resource }: Place,
  key: string,
): Promise<Pick<HeldValues, 'field' | 'since'>[]> {
  return db
    .selectFrom('sluice.held')
    .select(['field', 'since'])
    .where('source', '=', source)
    .where('resource', '=', resource)
    .where('key', '=', key)
    .orderBy('field')
    .execute();
}

/** Keeps note that the rows lack what is stored in the field; those that are held already stay so since then. SQL: one array parameter. */
export async function holdValues(
  tx: Db,
  { source, resource }: Place,
  field: string,
  keys: readonly string[],
): Promise<void> {
  await sql`insert into sluice.held (source, resource, field, key, since)
    select ${source}, ${resource}, ${field}, k, sluice.now() from unnest(cast(${keys} as text[])) k
    on conflict do nothing`.execute(tx);
}

/** Nothing of the rows is held any more, except for what is in `still`, by field. */
export async function releaseHeld(
  tx: Db,
  { source, resource }: Place,
  keys: readonly string[],
  still: ReadonlyMap<string, readonly string[]> = new Map(),
): Promise<void> {
  if (keys.length === 0) return;
  const pairs = [...still].flatMap(([field, held]) => held.map(key => ({ field, key })));
  await sql`delete from sluice.held where source = ${source} and resource = ${resource} and key = any(cast(${keys} as text[]))
    and not exists (select from unnest(cast(${pairs.map(pair => pair.field)} as text[]), cast(${pairs.map(pair => pair.key)} as text[])) as s(field, key)
      where s.field = held.field and s.key = held.key)`.execute(tx);
}

/** Values of the field that were lost with nobody accepting it. */
export async function noteLoss(
  tx: Db,
  { source, resource }: Place,
  { field, rows, runId }: { field: string; rows: number; runId: string | null },
): Promise<void> {
  await tx
    .insertInto('sluice.losses')
    .values({ source, resource, field, rows, run_id: runId, at: sql<string>`sluice.now()` })
    .execute();
}

/**
 * What may be lost of the values of a column, or of the rows with child rows. `stored` is counted only where that matters: it reads the
 * whole table. SQL: a table known at run time.
 */
export async function readFieldLimit(
  tx: Db,
  table: Table,
  { source, resource }: Place,
  field: string,
  count: number,
): Promise<LossLimit> {
  const { rows } = await sql<{ held: number; lost: number }>`select
    (select count(*)::int from sluice.held where source = ${source} and resource = ${resource} and field = ${field}) as held,
    (select coalesce(sum(rows), 0)::int from sluice.losses where source = ${source} and resource = ${resource} and field = ${field}
      and at > sluice.now() - make_interval(secs => ${DAY / 1000})) as lost`.execute(tx);
  const { held, lost } = rows[0] ?? { held: 0, lost: 0 };
  const least = lossLimitOf(0);
  if (lost + Math.max(held, count) <= least) return { held, lost, limit: least };
  const child = table.children.find(each => each.field === field);
  const stored = child
    ? sql`select count(distinct ${sql.id(child.parent)})::int as n from ${sql.id(table.schema, child.name)}`
    : sql`select count(nullif(${sql.id(field)}::text, ''))::int as n from ${sql.id(table.schema, table.name)}`;
  const found = await sql<{ n: number }>`${stored}`.execute(tx);
  return { held, lost, limit: lossLimitOf((found.rows[0]?.n ?? 0) + lost) };
}

/** Empties what is held of these fields, as the source shows it; the earlier versions are kept where all are. SQL: tables known at run time. */
export async function emptyHeld(
  tx: Db,
  table: Table,
  { source, resource }: Place,
  { fields, runId }: { fields: readonly string[]; runId: string | null },
): Promise<void> {
  const key = sql.id(table.key.name);
  for (const field of fields) {
    const held = sql`select cast(key as ${sql.raw(table.key.type)}) as key from sluice.held
      where source = ${source} and resource = ${resource} and field = ${field}`;
    if (table.history)
      await sql`insert into ${sql.id(table.schema, 'row_history')} (resource, key, row, valid_from, valid_to, ended_by, run_id)
        select ${resource}, t.${key}::text, ${wholeRow(table)}, t._synced_at, sluice.now(), 'changed', cast(${runId} as bigint)
        from ${sql.id(table.schema, table.name)} t where t.${key} in (${held})`.execute(tx);
    const child = table.children.find(each => each.field === field);
    if (child)
      await sql`delete from ${sql.id(table.schema, child.name)} where ${sql.id(child.parent)} in (${held})`.execute(tx);
    // The hash no longer tells what is stored: the next reading compares the row.
    const changed = [
      ...(child ? [] : [sql`${sql.id(field)} = null`]),
      ...(table.hashed ? [sql`_hash = null`] : []),
      sql`_synced_at = sluice.now()`,
    ];
    await sql`update ${sql.id(table.schema, table.name)} set ${sql.join(changed)} where ${key} in (${held})`.execute(
      tx,
    );
  }
  await tx
    .deleteFrom('sluice.held')
    .where('source', '=', source)
    .where('resource', '=', resource)
    .where('field', '=', anyOf(fields))
    .execute();
}
