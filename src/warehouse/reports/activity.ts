import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { daysAgo, epochMs } from '../database/now.ts';

/** Changes that runs brought on one day of `timeZone`. */
export interface DayOfChanges {
  /** `2026-01-31`. */
  readonly day: string;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
}

/** The last `days` days, today included, oldest first; days without a run as zeros. SQL: a series of days, and one scan by an index per resource. */
export async function changesByDay(
  db: Db,
  { source, resources, timeZone }: { source: string; resources: readonly string[]; timeZone: string },
  days: number,
): Promise<DayOfChanges[]> {
  const { rows } = await sql<DayOfChanges>`
    with today as (select (sluice.now() at time zone ${timeZone})::date as day),
    found as (
      select (r.ended_at at time zone ${timeZone})::date as day, sum(r.inserted) as inserted, sum(r.updated) as updated, sum(r.deleted) as deleted
      from today, unnest(cast(${resources} as text[])) as of_resource(name)
      join sluice.runs r on r.source = ${source} and r.resource = name
      where r.ended_at >= (today.day - ${days - 1}::int)::timestamp at time zone ${timeZone}
      group by 1)
    select to_char(s.day, 'YYYY-MM-DD') as day, coalesce(inserted, 0)::float8 as inserted, coalesce(updated, 0)::float8 as updated,
      coalesce(deleted, 0)::float8 as deleted
    from today, generate_series(today.day - ${days - 1}::int, today.day, interval '1 day') as s(day) left join found on found.day = s.day
    order by 1`.execute(db);
  return rows;
}

/** What a request was for. */
export const PURPOSES = ['newest', 'open', 'older', 'single', 'backfill', 'verify'] as const;

/** Requests granted within one hour, by purpose. */
export interface HourOfRequests extends Readonly<Record<(typeof PURPOSES)[number], number>> {
  /** The start of the hour, in epoch milliseconds. */
  readonly at: number;
}

/**
 * The last 24 hours, oldest first, the current one included. A request is kept for a day and names its resource and slice; its lane tells of
 * backfills and verifications. SQL: a series of hours, and text patterns.
 */
export async function requestsByHour(db: Db, source: string): Promise<HourOfRequests[]> {
  const { rows } = await sql<HourOfRequests>`
    with since as (select date_trunc('hour', sluice.now()) - interval '23 hours' as at),
    granted as (
      select date_trunc('hour', granted_at) as at, case
        when lane <> 'live' then lane
        when purpose like '% newest' then 'newest'
        when split_part(purpose, ' ', 2) like '%=%' then 'open'
        when purpose like '% one %' then 'single'
        else 'older' end as purpose
      from sluice.requests where source = ${source} and granted_at >= (select at from since))
    select ${epochMs('s.at')} as at, ${sql.join(
      PURPOSES.map(name => sql`(count(*) filter (where purpose = ${name}))::float8 as ${sql.id(name)}`),
    )}
    from since, generate_series(since.at, since.at + interval '23 hours', interval '1 hour') as s(at) left join granted g on g.at = s.at
    group by s.at order by s.at`.execute(db);
  return rows;
}

/** A tick of a resource, and when everything due at it had been read; both in epoch milliseconds. */
export interface TickServed {
  readonly resource: string;
  readonly at: number;
  readonly endedAt: number;
}

/** Those that ended within the last `hours`, and the last before them, oldest first. SQL: two scans by an index per resource. */
export async function ticksServedWithin(
  db: Db,
  source: string,
  resources: readonly string[],
  hours: number,
): Promise<TickServed[]> {
  const since = sql`sluice.now() - make_interval(hours => ${hours}::int)`;
  const served = sql`r.source = ${source} and r.resource = name and r.kind = 'slot' and r.state = 'done' and r.slot_at is not null`;
  const columns = sql`r.resource, ${epochMs('r.slot_at')} as at, ${epochMs('r.ended_at')} as "endedAt"`;
  const { rows } = await sql<TickServed>`
    select f.* from unnest(cast(${resources} as text[])) as of_resource(name), lateral (
      (select ${columns} from sluice.runs r where ${served} and r.ended_at < ${since} order by r.ended_at desc limit 1)
      union all select ${columns} from sluice.runs r where ${served} and r.ended_at >= ${since}) f
    order by f."endedAt"`.execute(db);
  return rows;
}

/**
 * Mean seconds between the change of a row, by its column `updatedAt`, and its arrival, over the rows that arrived in the last 24 hours;
 * null where none did. What was there before the first run ended is left out: it was only read late. SQL: a table known at run time; the
 * index on `_synced_at` finds the rows.
 */
export async function measuredDelay(
  db: Db,
  { source, resource, schema }: { source: string; resource: string; schema: string },
  updatedAt: string,
): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from avg(greatest(_synced_at - ${sql.id(updatedAt)}, interval '0')))::float8 as seconds
    from ${sql.id(schema, resource)}
    where _synced_at > sluice.now() - interval '1 day' and ${sql.id(updatedAt)} > (select min(ended_at) from sluice.runs
      where source = ${source} and resource = ${resource} and state = 'done')`.execute(db);
  return rows[0]?.seconds ?? null;
}

/** Runs that ended in the last 24 hours, and open ones. */
export function runMeasures(db: Db, source: string) {
  const work = ['resource', 'kind', 'state'] as const;
  return db
    .selectFrom('sluice.runs')
    .select(work)
    .select([
      sql<number>`count(*)::float8`.as('runs'),
      sql<number>`sum(inserted)::float8`.as('inserted'),
      sql<number>`sum(updated)::float8`.as('updated'),
      sql<number>`sum(deleted)::float8`.as('deleted'),
    ])
    .where('source', '=', source)
    .where(eb => eb.or([eb('ended_at', 'is', null), eb('ended_at', '>', daysAgo(1))]))
    .groupBy(work)
    .orderBy('resource')
    .orderBy('kind')
    .orderBy('state')
    .execute();
}
