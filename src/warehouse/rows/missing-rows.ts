import { type RawBuilder, sql } from 'kysely';
import type { Slice } from '../../engine/slices/slice.ts';
import { anyOf } from '../database/arrays.ts';
import type { Db } from '../database/database.ts';
import type { Place } from '../ledgers/sources.ts';
import type { Table } from './tables.ts';

// SQL: the tables are known at run time.

/** A stored row that its slice no longer returns and that is not yet proven deleted. It stops being missing when it is seen again or deleted. */
export interface MissingRow {
  readonly key: string;
  /** The first slice that lacked it. */
  readonly slice: string;
  /** When the reading that lacked it first had ended: the row may have left the slice just before. */
  readonly since: string;
  /** The stored row's value of the requested field; null without one. */
  readonly value: string | null;
  /** The watched slice that held it; null without one. */
  readonly watched?: Slice | null;
  /** A record that could not be read appeared when the row went missing: it may be the row. */
  readonly unreadable?: boolean;
  /** The first reading that lacked the row lacked at least half of its slice. */
  readonly half?: boolean;
  /** Readings that lacked the row; see `MissingReading.lagMs`. */
  readonly readings?: number;
  /** When the last of them had ended. Default: `since`. */
  readonly lackedAt?: string;
  /** When its own address or its related rows last showed it; null if they have not. */
  readonly shownAt?: string | null;
}

/** A row that was missing before: the first slice that lacked it, and since when. */
export type MissingBefore = Pick<MissingRow, 'key' | 'slice' | 'since' | 'readings' | 'unreadable' | 'half'>;

const SEEN = ['key', 'slice', 'since', 'readings', 'unreadable', 'half'] as const;

/** For rows that are no longer missing: shown, deleted, or behind an end that is not trusted. Returns those that were. */
export async function unmarkMissing(tx: Db, place: Place, keys: readonly string[]): Promise<MissingBefore[]> {
  if (keys.length === 0) return [];
  return tx
    .deleteFrom('sluice.missing')
    .where('source', '=', place.source)
    .where('resource', '=', place.resource)
    .where('key', '=', anyOf(keys))
    .returning(SEEN)
    .execute();
}

/** For missing rows that only their own address or their related rows show: they stay missing. Returns them. */
export async function noteShown(tx: Db, place: Place, keys: readonly string[]): Promise<MissingBefore[]> {
  if (keys.length === 0) return [];
  return tx
    .updateTable('sluice.missing')
    .set({ shown_at: sql<string>`sluice.now()` })
    .where('source', '=', place.source)
    .where('resource', '=', place.resource)
    .where('key', '=', anyOf(keys))
    .returning(SEEN)
    .execute();
}

/** A reading that lacked rows. */
export interface MissingReading {
  readonly slice: string;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly unreadable?: 'old' | 'new' | undefined;
  readonly half?: boolean;
  /** Of a row that went missing with half of its slice, a reading counts only so long after the one before: a cache may repeat an answer. */
  readonly lagMs: number;
  /** As of when a reading last showed its slice whole (epoch ms); null where that is not known. */
  readonly provenBefore: number | null;
}

/** Unmarks the other rows that one wrong reading lacked; returns their keys. */
export async function forgetLacked(tx: Db, place: Place, { key, slice, since }: MissingBefore): Promise<string[]> {
  const rows = await tx
    .deleteFrom('sluice.missing')
    .where('source', '=', place.source)
    .where('resource', '=', place.resource)
    .where('slice', '=', slice)
    .where('since', '=', since)
    .where('key', '!=', key)
    .returning('key')
    .execute();
  return rows.map(row => row.key);
}

/** Unmarks the rows that slices of these kinds lacked. */
export async function forgetLackedBy(tx: Db, place: Place, kinds: readonly Slice['by'][]): Promise<void> {
  await tx
    .deleteFrom('sluice.missing')
    .where('source', '=', place.source)
    .where('resource', '=', place.resource)
    .where(sql<string>`split_part(slice, ' ', 1)`, '=', anyOf(kinds))
    .execute();
}

/**
 * Marks rows missing, or counts another reading that lacked them; returns those that were missing before, with the first slice that lacked
 * each, and with this reading counted. `unreadable`: whether the reading had records that may be these rows; one that had none ends the doubt.
 * SQL: one array parameter, and one statement, whose SELECT sees the table as it was before its INSERT.
 */
export async function markMissing(
  tx: Db,
  place: Place,
  keys: readonly string[],
  { slice, startedAt, endedAt, unreadable, half = false, lagMs, provenBefore }: MissingReading,
): Promise<MissingBefore[]> {
  if (keys.length === 0) return [];
  const counts = sql<boolean>`m.since < cast(${startedAt} as timestamptz)
    and (not m.half or m.lacked_at + make_interval(secs => ${lagMs / 1000}::float8) < cast(${startedAt} as timestamptz))`;
  const { rows } = await sql<MissingBefore>`
    with marked as (
      insert into sluice.missing as m (source, resource, key, slice, since, lacked_at, half, unreadable, proven_before)
      select ${place.source}, ${place.resource}, k, ${slice}, ended, ended, ${half}, ${unreadable === 'new'},
        to_timestamp(${provenBefore === null ? null : provenBefore / 1000}::float8)
      from (select distinct unnest(cast(${keys} as text[]))) as given(k), (select cast(${endedAt} as timestamptz)) as moment(ended)
      on conflict (source, resource, key) do update set readings = m.readings + 1, lacked_at = excluded.lacked_at,
        since = case when m.unreadable and ${!unreadable} then excluded.since else m.since end, unreadable = m.unreadable and ${!!unreadable}
      where ${counts})
    select key, slice, since, unreadable, half, readings + case when ${counts} then 1 else 0 end as readings from sluice.missing m
    where source = ${place.source} and resource = ${place.resource} and key = any(cast(${keys} as text[]))`.execute(tx);
  return rows;
}

/** Of `keys`, those that are missing, with the first slice that lacked each. */
export async function missingAmong(tx: Db, place: Place, keys: readonly string[]): Promise<MissingBefore[]> {
  if (keys.length === 0) return [];
  return tx
    .selectFrom('sluice.missing')
    .select(SEEN)
    .where('source', '=', place.source)
    .where('resource', '=', place.resource)
    .where('key', '=', anyOf(keys))
    .execute();
}

/** Up to four stored keys beside this one that are not missing: the readings that lacked it have shown them, unless they were deleted since. */
export async function shownBeside(db: Db, place: Place, table: Table, key: string): Promise<string[]> {
  const column = sql`t.${sql.id(table.key.name)}`;
  const beside = (is: '<' | '>', order: 'desc' | 'asc') => sql`(
    select ${column}::text as key from ${sql.id(table.schema, table.name)} t
    where ${column} ${sql.raw(is)} cast(${key} as ${sql.raw(table.key.type)}) and not exists (select from sluice.missing m
      where m.source = ${place.source} and m.resource = ${place.resource} and m.key = ${column}::text)
    order by ${column} ${sql.raw(order)} limit 2)`;
  const { rows } = await sql<{ key: string }>`${beside('<', 'desc')} union all ${beside('>', 'asc')}`.execute(db);
  return rows.map(row => row.key);
}

/**
 * The missing rows of a resource, oldest first. `relatedBy`: a column of the stored rows to return as `value`; `watched`: slices of which one may
 * have held them. Default for `most`: all.
 */
export async function listMissing(
  db: Db,
  place: Place,
  table: Table,
  { relatedBy, watched }: { readonly relatedBy: string | null; readonly watched: readonly Slice[] },
  most: number | null = null,
): Promise<MissingRow[]> {
  const values = watched.flatMap(slice => (slice.by === 'value' ? [slice] : []));
  const fields = [...new Set([...(relatedBy === null ? [] : [relatedBy]), ...values.map(({ field }) => field)])];
  const stored =
    fields.length === 0
      ? sql`null`
      : sql`(select jsonb_build_object(${sql.join(fields.map(field => sql`${sql.lit(field)}, t.${sql.id(field)}::text`))})
    from ${sql.id(table.schema, table.name)} t where t.${sql.id(table.key.name)} = cast(m.key as ${sql.raw(table.key.type)}))`;
  const { rows } = await sql<Omit<MissingRow, 'value' | 'watched'> & { stored: Record<string, string | null> | null }>`
    select key, slice, since, unreadable, half, readings, lacked_at as "lackedAt", shown_at as "shownAt", ${stored} as stored from sluice.missing m
    where source = ${place.source} and resource = ${place.resource} order by since, key limit ${most}`.execute(db);
  return rows.map(({ stored, ...row }) => ({
    ...row,
    value: relatedBy === null ? null : (stored?.[relatedBy] ?? null),
    watched: values.find(({ field, value }) => stored?.[field] === value) ?? null,
  }));
}

/** How many missing rows meet the condition on the stored rows `t`; null: how many there are. */
export async function countMissing(
  db: Db,
  { source, resource }: Place,
  table: Table,
  condition: RawBuilder<boolean> | null,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from sluice.missing m
    join ${sql.id(table.schema, table.name)} t on t.${sql.id(table.key.name)} = cast(m.key as ${sql.raw(table.key.type)})
    where m.source = ${source} and m.resource = ${resource} and ${condition ?? sql`true`}`.execute(db);
  return rows[0]?.count ?? 0;
}
