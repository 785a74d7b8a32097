import { type RawBuilder, sql } from 'kysely';
import { DAY } from '../../clock.ts';
import type { Slice } from '../../engine/slices/slice.ts';
import type { Db } from '../database/database.ts';
import type { Place } from '../ledgers/place.ts';
import { forgetWindows } from './row-windows.ts';
import type { Table } from './tables.ts';
import { arrayOf } from './write-rows.ts';

/**
 * A row that its slice no longer shows is missing: still stored, not yet known to be gone. It leaves `sluice.missing` when it is
 * seen again, or for good when its deletion is proven.
 */
export interface MissingRow {
  readonly key: string;
  /** The slice that lacked it first. */
  readonly slice: string;
  readonly since: string;
  /** The stored row's value of the field asked for; null without one. */
  readonly value: string | null;
}

/** A row that was missing until now: the slice that lacked it first, and since when. */
export type SeenRow = Pick<MissingRow, 'key' | 'slice' | 'since'>;

/** The rows seen again are no longer missing; returns those that were. */
export async function markSeen(tx: Db, place: Place, keys: readonly string[]): Promise<SeenRow[]> {
  if (keys.length === 0) return [];
  const { rows } = await sql<SeenRow>`
    delete from sluice.missing where source = ${place.source} and resource = ${place.resource}
    and key = any(cast(${keys} as text[])) returning key, slice, since`.execute(tx);
  return rows;
}

/** What a reading that told wrong lacked is not missing for that; returns the keys. */
export async function forgetLacked(tx: Db, place: Place, { slice, since }: SeenRow): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    delete from sluice.missing where source = ${place.source} and resource = ${place.resource}
    and slice = ${slice} and since = ${since} returning key`.execute(tx);
  return rows.map(row => row.key);
}

/** What slices of these kinds lacked is not missing for that. */
export async function forgetLackedBy(tx: Db, place: Place, kinds: readonly Slice['by'][]): Promise<void> {
  await sql`delete from sluice.missing where source = ${place.source} and resource = ${place.resource}
    and split_part(slice, ' ', 1) = any(cast(${kinds} as text[]))`.execute(tx);
}

/** Stored rows of the slice that the reading granted at `readAt` did not show, and that nothing newer has brought. */
export async function findLeft(
  tx: Db,
  table: Table,
  condition: RawBuilder<boolean>,
  seen: readonly string[],
  readAt: string,
): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select t.${sql.id(table.key.name)}::text as key from ${sql.id(table.schema, table.name)} t
    left join unnest(${arrayOf(table.key.type, seen)}) as s(key) on s.key = t.${sql.id(table.key.name)}
    where ${condition} and s.key is null and t._read_at < cast(${readAt} as timestamptz)`.execute(tx);
  return rows.map(row => row.key);
}

/** Marks rows missing; returns those that were not before. */
export async function markMissing(
  tx: Db,
  place: Place,
  keys: readonly string[],
  slice: string,
  since: string,
): Promise<string[]> {
  if (keys.length === 0) return [];
  const { rows } = await sql<{ key: string }>`
    insert into sluice.missing (source, resource, key, slice, since)
    select ${place.source}, ${place.resource}, k, ${slice}, cast(${since} as timestamptz) from unnest(cast(${keys} as text[])) k
    on conflict do nothing returning key`.execute(tx);
  return rows.map(row => row.key);
}

/** Of `keys`, those that are missing, with the slice that lacked each first. */
export async function missingAmong(tx: Db, place: Place, keys: readonly string[]): Promise<SeenRow[]> {
  if (keys.length === 0) return [];
  const { rows } = await sql<SeenRow>`
    select key, slice, since from sluice.missing where source = ${place.source} and resource = ${place.resource}
      and key = any(cast(${keys} as text[]))`.execute(tx);
  return rows;
}

export async function holdsMissing(db: Db, place: Place): Promise<boolean> {
  const { rows } =
    await sql`select from sluice.missing where source = ${place.source} and resource = ${place.resource} limit 1`.execute(
      db,
    );
  return rows.length > 0;
}

/** What is missing of a resource, oldest first. `field`: a column of the stored rows to give along. */
export async function listMissing(db: Db, place: Place, table: Table, field: string | null): Promise<MissingRow[]> {
  const value =
    field === null
      ? sql`null`
      : sql`(select t.${sql.id(field)}::text from ${sql.id(table.schema, table.name)} t
    where t.${sql.id(table.key.name)} = cast(m.key as ${sql.raw(table.key.type)}))`;
  const { rows } = await sql<MissingRow>`select key, slice, since, ${value} as value from sluice.missing m
    where source = ${place.source} and resource = ${place.resource} order by since, key`.execute(db);
  return rows;
}

/** In any 24 hours a resource may lose this many rows: a tenth, and at least 20. */
export function fuseLimit(rows: number): number {
  return Math.max(20, Math.floor(rows / 10));
}

/** What the fuse counts: rows that are missing now, those lost in the last 24 hours, and how many together are not too many. */
export interface Fuse {
  readonly missing: number;
  readonly lost: number;
  readonly limit: number;
}

export type DeleteResult = { readonly deleted: string[] } | { readonly blown: Fuse };

/** What was accepted is no loss. */
export async function readFuse(db: Db, table: Table, place: Place): Promise<Fuse> {
  const { rows } = await sql<{ missing: number; lost: number; stored: number }>`
    select (select count(*)::int from sluice.missing where source = ${place.source} and resource = ${place.resource}) as missing,
      (select count(*)::int from ${sql.id(table.schema, 'row_history')} h where resource = ${place.resource} and ended_by = 'deleted'
        and valid_to > sluice.now() - make_interval(secs => ${DAY / 1000}) and not exists (
          select from sluice.runs r join sluice.orders o on o.id = r.order_id where r.id = h.run_id and o.accept_deletes > 0)) as lost,
      (select count(*)::int from ${sql.id(table.schema, table.name)}) as stored`.execute(db);
  const { missing, lost, stored } = rows[0] ?? { missing: 0, lost: 0, stored: 0 };
  return { missing, lost, limit: fuseLimit(stored + lost) };
}

/**
 * Moves rows proven gone to `row_history`, unless the fuse forbids it. The fuse counts what the resource lost in the last 24
 * hours and all that is missing now: when together they pass the limit nothing is deleted, because a source that suddenly shows
 * less is more often a fault than a clearing-out. `accepted` rows may go whatever the fuse says.
 */
export async function deleteRows(
  tx: Db,
  table: Table,
  place: Place,
  named: readonly string[],
  context: { runId: string | null; accepted: number },
): Promise<DeleteResult> {
  // Named twice, a row would be moved twice.
  const keys = [...new Set(named)];
  if (keys.length === 0) return { deleted: [] };
  const target = sql.id(table.schema, table.name);
  const old = sql.id(table.schema, 'row_history');
  const key = sql.id(table.key.name);
  // Serialises deletions of one resource, so that two processes cannot both find the fuse whole.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`sluice fuse ${table.schema}.${table.name}`}, 0))`.execute(
    tx,
  );
  const fuse = await readFuse(tx, table, place);
  if (fuse.lost + Math.max(fuse.missing, keys.length) > fuse.limit && keys.length > context.accepted)
    return { blown: fuse };

  const children = table.children.map(
    child => sql`${child.field}::text, (select coalesce(jsonb_agg(to_jsonb(c) - ${child.parent}::text order by c.line), '[]')
      from ${sql.id(table.schema, child.name)} c where c.${sql.id(child.parent)} = t.${key})`,
  );
  const { rows } = await sql<{ key: string }>`
    insert into ${old} (resource, key, row, valid_from, valid_to, ended_by, run_id)
    select ${place.resource}, t.${key}::text, (to_jsonb(t) - '_hash') || jsonb_build_object(${sql.join(children)}),
      t._synced_at, sluice.now(), 'deleted', cast(${context.runId} as bigint)
    from unnest(${arrayOf(table.key.type, keys)}) as k(key) join ${target} t on t.${key} = k.key
    returning key`.execute(tx);
  const deleted = rows.map(row => row.key);
  for (const child of table.children) {
    await sql`delete from ${sql.id(table.schema, child.name)} t using unnest(${arrayOf(table.key.type, deleted)}) as k(key)
      where t.${sql.id(child.parent)} = k.key`.execute(tx);
  }
  await sql`delete from ${target} t using unnest(${arrayOf(table.key.type, deleted)}) as k(key) where t.${key} = k.key`.execute(
    tx,
  );
  await forgetWindows(tx, place, deleted);
  await markSeen(tx, place, keys);
  return { deleted };
}
