import { type RawBuilder, sql } from 'kysely';
import type { SeenChange } from '../../engine/deletion/restore.ts';
import { anyOf } from '../database/arrays.ts';
import type { Db } from '../database/database.ts';
import { daysAgo, epochMs } from '../database/now.ts';
import type { Table } from './tables.ts';
import { OURS, wholeRow } from './write/row-history.ts';

/** The tables of a source, by the lists that are read into them. */
export interface Lists {
  readonly source: string;
  readonly schema: string;
  readonly tables: ReadonlyMap<string, Table>;
}

const LOOKS_BACK_DAYS = 7;
/** The newest changes that are looked at. Rows are compared for those that changed more than once. */
const MOST_CHANGES = 5000;

/** Two versions of a row with the same digest are equal. It is of the row as `row_history` keeps it. */
const digest = (row: RawBuilder<unknown>): RawBuilder<string> => sql<string>`md5((${row} - ${OURS})::text)`;

/** The digest of the row of `s`, a key of a list, as it is stored now. */
function storedDigest(tables: Lists['tables']): RawBuilder<string> {
  const ofLists = [...tables].map(([resource, table]) => {
    const key = sql`cast(case when s.resource = ${resource} then s.key end as ${sql.raw(table.key.type)})`;
    return sql`select ${digest(sql`(${wholeRow(table)})`)} from ${sql.id(table.schema, table.name)} t where t.${sql.id(table.key.name)} = ${key}`;
  });
  return sql<string>`(${sql.join(ofLists, sql` union all `)})`;
}

/**
 * The changes of the last week, by their numbers, and which of them left a row as it had been before an earlier one, where neither is an undo of ours. Rows
 * that are missing count as deleted since then. SQL: tables known at run time, window functions.
 */
export async function readSeenChanges(db: Db, { source, schema, tables }: Lists): Promise<SeenChange[]> {
  if (tables.size === 0) return [];
  const log = sql.id(schema, 'change_log');
  const ofLists = sql`resource = ${anyOf([...tables.keys()])}`;
  const { rows } = await sql<SeenChange>`
    with seen as materialized (
      (select number, resource, key, kind, seen_at, run_id, false as is_missing from ${log}
        where key is not null and ${ofLists} and seen_at > ${daysAgo(LOOKS_BACK_DAYS)}
        order by number desc limit ${MOST_CHANGES})
      union all
      select (select coalesce(max(number), 0) from ${log}) + row_number() over (order by since), resource, key, 'deleted', since, null, true
        from sluice.missing where source = ${source} and ${ofLists} and shown_at is null),
    again as (
      select *, count(*) over (partition by resource, key) > 1 as is_again,
        row_number() over (partition by resource, key order by number desc) = 1 as is_last from seen),
    compared as (
      select *, case when kind in ('inserted', 'revived') then ''
          else (select ${digest(sql`h.row`)} from ${sql.id(schema, 'row_history')} h
            where h.resource = s.resource and h.key = s.key and h.number = s.number limit 1) end as ended,
        case when is_missing or (is_last and kind <> 'deleted') then ${storedDigest(tables)} end as stored
      from again s where is_again),
    followed as materialized (
      select *, coalesce(ended, stored) as before, case when kind = 'deleted' then ''
          else coalesce(lead(coalesce(ended, stored)) over (partition by resource, key order by number), stored) end as after
      from compared),
    back as (
      select f.number, max(earlier.number) as earlier from followed f join followed earlier using (resource, key)
      where earlier.number < f.number and earlier.before = f.after
        and not exists (select from sluice.runs r where r.id in (f.run_id, earlier.run_id) and r.kind = 'undo')
      group by f.number)
    select s.number::float8 as number, s.resource, s.key, s.kind, ${epochMs('s.seen_at')} as "seenAt", b.earlier::float8 as "takesBack"
    from seen s left join back b using (number) order by s.number`.execute(db);
  return rows;
}

/** A text that differs once a row of these lists changed or is missing, all of one was read, or a day is over; null before the first change. */
export async function changesMark(db: Db, { source, schema, tables }: Lists): Promise<string | null> {
  const { rows } = await sql<{ mark: string }>`
    select concat_ws(' ', n.last, date_trunc('day', sluice.now()),
      (select count(*) || ' ' || max(since) from sluice.missing where source = ${source} and resource = ${anyOf([...tables.keys()])}),
      (select max(ended_at) from sluice.orders where source = ${source} and kind = 'sync')) as mark
    from sluice.change_numbers n where schema = ${schema} and last >= first`.execute(db);
  return rows[0]?.mark ?? null;
}

/** The number of the first change that was seen in the last `ms`; null if none was. */
export async function firstSeenWithin(db: Db, schema: string, ms: number): Promise<number | null> {
  const { rows } = await sql<{ number: number | null }>`
    select min(number)::float8 as number from ${sql.id(schema, 'change_log')}
    where seen_at > sluice.now() - ${ms}::float8 * interval '1 millisecond'`.execute(db);
  return rows[0]?.number ?? null;
}

/** By list: rows that came with the change `first` or since, and are stored. */
export async function cameSince(
  db: Db,
  { schema, resources, first }: { schema: string; resources: readonly string[]; first: number },
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ resource: string; rows: number }>`
    select resource, count(*)::int as rows from (
      select resource, (array_agg(kind order by number))[1] as first, (array_agg(kind order by number desc))[1] as last
      from ${sql.id(schema, 'change_log')} where key is not null and resource = ${anyOf(resources)} and number >= ${first}
      group by resource, key) each
    where first in ('inserted', 'revived') and last <> 'deleted' group by resource`.execute(db);
  return new Map(rows.map(each => [each.resource, each.rows]));
}
