import { type RawBuilder, sql } from 'kysely';
import { anyOf } from '../database/arrays.ts';
import type { Db } from '../database/database.ts';
import { epochMs } from '../database/now.ts';
import { covering } from '../ledgers/coverage.ts';
import type { Place } from '../ledgers/sources.ts';
import type { Table } from './tables.ts';

/** A record that did not parse, kept as it came. */
export interface BadRecord {
  /** The row's key where it can be read, else `?` and a hash of the payload. */
  readonly key: string;
  /** The record as JSON text. */
  readonly payload: string;
  /** Field (or `(record)`) to reason. */
  readonly reasons: Readonly<Record<string, string>>;
}

export interface QuarantinedRecord extends BadRecord {
  readonly resource: string;
  readonly slice: string;
  readonly firstSeen: string;
  readonly lastSeen: string;
  readonly attempts: number;
}

/** The reading that showed a record. */
export interface ShownBy {
  readonly slice: string;
  /** When it began; null: just now. What it shows is as of then. */
  readonly startedAt: string | null;
}

/** Stores bad records, counting another attempt for known ones; returns how many are new. SQL: one array parameter per column. */
export async function quarantine(
  tx: Db,
  place: Place,
  { slice, startedAt }: ShownBy,
  records: readonly BadRecord[],
): Promise<number> {
  if (records.length === 0) return 0;
  const data = [...new Map(records.map(record => [record.key, record])).values()];
  const { rows } = await sql<{ fresh: boolean }>`
    insert into sluice.quarantine as q (source, resource, key, payload, reasons, slice, first_seen, last_seen)
    select ${place.source}, ${place.resource}, key, payload, cast(reasons as jsonb), ${slice},
      coalesce(cast(${startedAt} as timestamptz), sluice.now()), sluice.now()
    from unnest(cast(${data.map(record => record.key)} as text[]), cast(${data.map(record => record.payload)} as text[]),
      cast(${data.map(record => JSON.stringify(record.reasons))} as text[])) as d(key, payload, reasons)
    on conflict (source, resource, key) do update set payload = excluded.payload, reasons = excluded.reasons, slice = excluded.slice,
      first_seen = case when q.resolved_at is null then q.first_seen else excluded.first_seen end,
      last_seen = excluded.last_seen, attempts = q.attempts + 1, resolved_at = null
    returning attempts = 1 as fresh`.execute(tx);
  return rows.filter(row => row.fresh).length;
}

/** When the last of these records was first seen (epoch ms); null if none of them was. */
export async function lastFirstSeen(
  tx: Db,
  { source, resource }: Place,
  keys: readonly string[],
): Promise<number | null> {
  const { at } = await tx
    .selectFrom('sluice.quarantine')
    .select(epochMs('max(first_seen)').as('at'))
    .where('source', '=', source)
    .where('resource', '=', resource)
    .where('key', '=', anyOf(keys))
    .executeTakeFirstOrThrow();
  return at;
}

/**
 * Records without a readable id cannot be told apart. One of them was a row that an answer of `startedAt` shows again: what such records stand for
 * now may be rows that were shown until then. SQL: the form of such keys is a pattern.
 */
export async function seeAnew(tx: Db, { source, resource }: Place, startedAt: string | null): Promise<void> {
  await sql`update sluice.quarantine set first_seen = greatest(first_seen, coalesce(cast(${startedAt} as timestamptz), sluice.now()))
    where source = ${source} and resource = ${resource} and resolved_at is null and key ~ '^[?][0-9a-f]{32}(/|$)'`.execute(
    tx,
  );
}

/**
 * Counts quarantined records without a stored row that were seen since `since` (epoch ms): a record that went bad keeps its last good row.
 * SQL: a table known at run time.
 */
export async function countQuarantined(db: Db, place: Place, table: Table, since = 0): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from sluice.quarantine q
    where source = ${place.source} and resource = ${place.resource} and resolved_at is null
      and last_seen >= to_timestamp(${since}::float8 / 1000)
      and not exists (select from ${sql.id(table.schema, table.name)} t where t.${sql.id(table.key.name)}::text = q.key)`.execute(
    db,
  );
  return rows[0]?.count ?? 0;
}

/** The oldest proof of the slices that cover a resource; null while one was never read. */
const OLDEST = sql`case when bool_and(c.proven_at is not null) then min(c.proven_at) end`;

/** It does not depend on the record, so that Postgres computes it once. */
const oldestOf = ({ source, resource }: Place) =>
  sql`(select ${OLDEST} from sluice.coverage c where c.source = ${source} and c.resource = ${resource} and ${covering})`;

/**
 * The source no longer shows the record: everything was read since it was last seen, including the slice that showed it. This resolves
 * records whose key cannot be read and records that were deleted at the source instead of corrected.
 */
const noLongerShown = (oldest: RawBuilder<unknown>) => sql`coalesce(q.last_seen < ${oldest}
    and not exists (select from sluice.coverage c where c.source = q.source and c.resource = q.resource and c.slice = q.slice
      and greatest(c.read_at, c.proven_at) <= q.last_seen), false)`;

/** Resolves records that parse again or that the source no longer shows. SQL: the rule is an expression over the coverage. */
export async function resolveQuarantine(tx: Db, place: Place, keys: readonly string[]): Promise<void> {
  const { source, resource } = place;
  await sql`update sluice.quarantine q set resolved_at = sluice.now()
    where source = ${source} and resource = ${resource} and resolved_at is null
      and (key = any(cast(${keys} as text[])) or ${noLongerShown(oldestOf(place))})`.execute(tx);
}

/** Whether the record is in quarantine and, as far as known, still shown by the source. */
export const isQuarantined = async (db: Db, place: Place, key: string): Promise<boolean> =>
  (await countBad(db, place, [key])) > 0;

/**
 * Records in quarantine that the source still shows, as far as known: all, or those under these keys, that were seen since `since` (epoch ms). SQL: the
 * rule is an expression over the coverage.
 */
export async function countBad(db: Db, place: Place, keys: readonly string[] | null, since = 0): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from sluice.quarantine q
    where source = ${place.source} and resource = ${place.resource} and resolved_at is null
      and last_seen >= to_timestamp(${since}::float8 / 1000) and ${keys === null ? sql`true` : sql`key = any(cast(${keys} as text[]))`} and not ${noLongerShown(oldestOf(place))}`.execute(
    db,
  );
  return rows[0]?.count ?? 0;
}

/** The record in quarantine under this key; null if there is none. */
export async function readQuarantined(
  db: Db,
  { source, resource }: Place,
  key: string,
): Promise<QuarantinedRecord | null> {
  const record = await db
    .selectFrom('sluice.quarantine')
    .select(['resource', 'key', 'payload', 'reasons', 'slice', 'first_seen as firstSeen', 'last_seen as lastSeen'])
    .select('attempts')
    .where('source', '=', source)
    .where('resource', '=', resource)
    .where('key', '=', key)
    .where('resolved_at', 'is', null)
    .executeTakeFirst();
  return record ? (record as QuarantinedRecord) : null;
}

/** Newest first. SQL: the rule is an expression over the coverage. */
export async function listQuarantine(db: Db, source: string, most: number): Promise<QuarantinedRecord[]> {
  const { rows } = await sql<QuarantinedRecord>`
    with covers as (select c.resource, ${OLDEST} as oldest from sluice.coverage c where c.source = ${source} and ${covering} group by c.resource)
    select q.resource, key, payload, reasons, slice, first_seen as "firstSeen", last_seen as "lastSeen", attempts
    from sluice.quarantine q left join covers on covers.resource = q.resource
    where source = ${source} and resolved_at is null and not ${noLongerShown(sql.ref('covers.oldest'))}
    order by last_seen desc, q.resource, key limit ${most}`.execute(db);
  return rows;
}

/** Counts rows with values that had to be cleaned before they could be stored, for the existing tables that have any. It scans each table. */
export async function countCleaned(
  db: Db,
  schema: string,
  tables: readonly string[],
): Promise<{ table: string; rows: number }[]> {
  const counted: { table: string; rows: number }[] = [];
  const { rows: present } = await sql<{ table: string }>`select tablename as table from pg_tables
    where schemaname = ${schema} and tablename = any(cast(${tables} as text[])) order by 1`.execute(db);
  for (const { table } of present) {
    const { rows } = await sql<{ rows: number }>`select count(*)::int as rows from ${sql.id(schema, table)}
      where _extra ? '(cleaned)'`.execute(db);
    if (rows[0] && rows[0].rows > 0) counted.push({ table, rows: rows[0].rows });
  }
  return counted;
}
