import { sql } from 'kysely';
import { DAY } from '../../clock.ts';
import { type LossLimit, lossLimitOf } from '../../engine/deletion/loss-limit.ts';
import { anyOf } from '../database/arrays.ts';
import type { Db } from '../database/database.ts';
import { readNow } from '../database/now.ts';
import type { Place } from '../ledgers/sources.ts';
import type { Table } from './tables.ts';
import { isLogged, logCtes } from './write/change-log.ts';
import { keepVersions } from './write/row-history.ts';

/** Stored values of a column, or child rows, that the source shows empty and that are kept. `field`: the column, or the child field. */
export interface HeldValues {
  readonly field: string;
  readonly rows: number;
  /** When the first of them was held, as Postgres writes it. */
  readonly since: string;
}

/** What is held of a resource, by field. */
export function listHeld(db: Db, { source, resource }: Place): Promise<HeldValues[]> {
  return db
    .selectFrom('sluice.held')
    .select(eb => [
      'field',
      eb.cast<number>(eb.fn.countAll(), 'integer').as('rows'),
      eb.fn.min<string>('since').as('since'),
    ])
    .where('source', '=', source)
    .where('resource', '=', resource)
    .groupBy('field')
    .orderBy('field')
    .execute();
}

/** Rows with held values: all, or among these keys. */
export async function countHeld(db: Db, { source, resource }: Place, keys: readonly string[] | null): Promise<number> {
  const { rows } = await db
    .selectFrom('sluice.held')
    .select(eb => eb.cast<number>(eb.fn.count('key').distinct(), 'integer').as('rows'))
    .where('source', '=', source)
    .where('resource', '=', resource)
    .$if(keys !== null, query => query.where('key', '=', anyOf(keys ?? [])))
    .executeTakeFirstOrThrow();
  return rows;
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

/** One stored value, or the child rows of one row. */
export interface HeldValue {
  readonly field: string;
  readonly key: string;
}

/** Of these rows, those whose values of the field are held. */
export async function heldAmong(
  tx: Db,
  { source, resource }: Place,
  field: string,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx
    .selectFrom('sluice.held')
    .select('key')
    .where('source', '=', source)
    .where('resource', '=', resource)
    .where('field', '=', field)
    .where('key', '=', anyOf(keys))
    .execute();
  return new Set(rows.map(({ key }) => key));
}

/** These are held no longer. SQL: two array parameters. */
export async function releaseHeld(tx: Db, { source, resource }: Place, ended: readonly HeldValue[]): Promise<void> {
  if (ended.length === 0) return;
  await sql`delete from sluice.held h
    using unnest(cast(${ended.map(({ field }) => field)} as text[]), cast(${ended.map(({ key }) => key)} as text[])) as e(field, key)
    where h.source = ${source} and h.resource = ${resource} and h.field = e.field and h.key = e.key`.execute(tx);
}

/** Ends all that is held of a resource, unless it is narrowed down. */
const allHeld = (tx: Db, { source, resource }: Place) =>
  tx.deleteFrom('sluice.held').where('source', '=', source).where('resource', '=', resource);

export async function releaseRows(tx: Db, place: Place, keys: readonly string[]): Promise<void> {
  await allHeld(tx, place).where('key', '=', anyOf(keys)).execute();
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
  if (lost + held + count <= least) return { held, lost, limit: least };
  const child = table.children.find(each => each.field === field);
  const stored = child
    ? sql`select count(distinct ${sql.id(child.parent)})::int as n from ${sql.id(table.schema, child.name)}`
    : sql`select count(nullif(${sql.id(field)}::text, ''))::int as n from ${sql.id(table.schema, table.name)}`;
  const found = await sql<{ n: number }>`${stored}`.execute(tx);
  return { held, lost, limit: lossLimitOf((found.rows[0]?.n ?? 0) + lost) };
}

/**
 * Empties what is held of these fields, as the source shows it, and keeps the earlier versions. Names that the table lacks are passed over.
 * SQL: tables known at run time.
 */
export async function emptyHeld(
  tx: Db,
  table: Table,
  place: Place,
  { fields, runId }: { fields: readonly string[]; runId: string | null },
): Promise<void> {
  const { source, resource } = place;
  const target = sql.id(table.schema, table.name);
  const key = sql.id(table.key.name);
  // One moment, so that no earlier version ends before the next one begins.
  const at = sql`cast(${new Date(await readNow(tx)).toISOString()} as timestamptz)`;
  const held = (of: readonly string[]) => sql`select cast(key as ${sql.raw(table.key.type)}) as key from sluice.held
    where source = ${source} and resource = ${resource} and field = any(cast(${of} as text[]))`;
  // Table and rows before numbers, as a commit and an undo lock them; and what is logged is then what stands there.
  await sql`lock table ${target} in row exclusive mode`.execute(tx);
  await sql`select from ${target} t where t.${key} in (${held(fields)}) for update`.execute(tx);
  // Since when the source shows them empty is not known.
  await sql`with changed as materialized (
      select t.${key}::text as key, 'updated' as kind, null::timestamptz as earliest
      from ${target} t where t.${key} in (${held(fields)}) and ${isLogged(source, resource)}),
    ${logCtes(table, { resource, runId, at })}
    ${keepVersions(table, resource, { by: 'changed', at, runId, number: sql`n.number` })}
    from ${target} t left join numbered n on n.key = t.${key}::text where t.${key} in (${held(fields)})`.execute(tx);
  for (const field of fields) {
    const child = table.children.find(each => each.field === field);
    if (child)
      await sql`delete from ${sql.id(table.schema, child.name)} where ${sql.id(child.parent)} in (${held([field])})`.execute(
        tx,
      );
    else if (!table.columns.some(({ name }) => name === field)) continue;
    // The hash no longer tells what is stored: the next reading compares the row.
    const changed = [
      ...(child ? [] : [sql`${sql.id(field)} = null`]),
      ...(table.hashed ? [sql`_hash = null`] : []),
      sql`_synced_at = ${at}`,
    ];
    await sql`update ${target} set ${sql.join(changed)} where ${key} in (${held([field])})`.execute(tx);
  }
  await allHeld(tx, place).where('field', '=', anyOf(fields)).execute();
}
