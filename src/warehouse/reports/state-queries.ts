import { type RawBuilder, sql } from 'kysely';
import { anyOf } from '../database/arrays.ts';
import type { Db } from '../database/database.ts';
import { daysAgo, epochMs, notAhead } from '../database/now.ts';
import { covering, notOffered } from '../ledgers/coverage.ts';
import type { Run } from '../ledgers/runs.ts';
import type { Place } from '../ledgers/sources.ts';
import { runColumns } from './run-history.ts';

// What the state of a source consists of, each with one statement for many sources; no decision is based on it.

type OfSource<T> = T & { readonly source: string };

/** All open runs, newest first, however long ago they began: a backfill may take days while thousands of other runs begin. */
export function openRuns(db: Db, sources: readonly string[]): Promise<OfSource<Run>[]> {
  return db
    .selectFrom('sluice.runs')
    .select([...runColumns, 'source'])
    .where('source', '=', anyOf(sources))
    .where('state', 'in', ['running', 'waiting'])
    .orderBy('id', 'desc')
    .execute();
}

/** How much of a resource is proven, and which of its rows are in doubt. */
export interface ResourceProof {
  readonly resource: string;
  /** All slices, those proven in the last day, and those never read. */
  readonly slices: number;
  /** As Postgres writes it. */
  readonly oldestProof: string | null;
  /** How long ago that was; null while a slice was never read. */
  readonly oldestProofSeconds: number | null;
  readonly provenInADay: number;
  readonly neverRead: number;
  /** The source was asked for the list and does not have it. */
  readonly absent: boolean;
  readonly missing: number;
  readonly quarantined: number;
  /** Stored values and child rows that the source shows empty, and that are kept. */
  readonly held: number;
}

/** In the order of `places`. SQL: one statement, however many there are; each table is grouped once. */
export async function resourceProofs(db: Db, places: readonly Place[]): Promise<OfSource<ResourceProof>[]> {
  const of = sql`source = ${anyOf([...new Set(places.map(({ source }) => source))])}`;
  const { rows } = await sql<OfSource<ResourceProof>>`
    select source, resource, coalesce(slices, 0) as slices, "oldestProof",
      case when "neverRead" = 0 then extract(epoch from sluice.now() - "oldestProof")::float8 end as "oldestProofSeconds",
      coalesce("provenInADay", 0) as "provenInADay", coalesce("neverRead", 0) as "neverRead", coalesce(absent, false) as absent,
      coalesce(missing, 0) as missing, coalesce(quarantined, 0) as quarantined, coalesce(held, 0) as held
    from ${unnested(places)}
    left join (select source, resource, count(*)::float8 as slices, min(proven_at) as "oldestProof",
        count(*) filter (where proven_at > (select sluice.now() - interval '1 day'))::float8 as "provenInADay",
        count(*) filter (where proven_at is null)::float8 as "neverRead", ${notOffered} as absent
      from sluice.coverage where ${of} and ${covering} group by source, resource) c using (source, resource)
    left join (select source, resource, count(*)::float8 as missing from sluice.missing
      where ${of} group by source, resource) m using (source, resource)
    left join (select source, resource, count(*)::float8 as quarantined from sluice.quarantine
      where ${of} and resolved_at is null group by source, resource) q using (source, resource)
    left join (select source, resource, count(*)::float8 as held from sluice.held
      where ${of} group by source, resource) h using (source, resource)
    order by place`.execute(db);
  return rows;
}

const unnested = (places: readonly Place[]) => sql`unnest(cast(${places.map(each => each.source)} as text[]),
      cast(${places.map(each => each.resource)} as text[])) with ordinality as p(source, resource, place)`;

/** A resource, and its newest tick of which everything due was read (epoch ms); null where none was, and where that was forgotten since. */
export interface ServedTick {
  readonly resource: string;
  readonly at: number | null;
}

/** In the order of `places`. SQL: the newest run of each resource, by its index. */
export async function servedTicks(db: Db, places: readonly Place[]): Promise<OfSource<ServedTick>[]> {
  const { rows } = await sql<OfSource<ServedTick>>`
    select p.source, p.resource, (select ${epochMs('r.slot_at')} from sluice.runs r
      where r.source = p.source and r.resource = p.resource and r.kind = 'slot' and r.state = 'done' and ${notAhead('r.slot_at')}
        and exists (select from sluice.coverage c where c.source = p.source and c.resource = p.resource and ${covering})
      order by r.id desc limit 1) as at
    from ${unnested(places)} order by place`.execute(db);
  return rows;
}

/** The requests of each source that were granted within the last hour; none: it is left out. */
export async function recentRequests(db: Db, sources: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<OfSource<{ requests: number }>>`
    select source, count(*)::float8 as requests from sluice.requests
    where granted_at > sluice.now() - interval '1 hour' and source = ${anyOf(sources)} group by source`.execute(db);
  return new Map(rows.map(({ source, requests }) => [source, requests]));
}

/** The failures of the last week, newest first. */
export function lastFailures(db: Db, source: string, resources: readonly string[], most: number): Promise<Run[]> {
  return db
    .selectFrom('sluice.runs')
    .select(runColumns)
    .where('source', '=', source)
    .where('resource', '=', anyOf(resources))
    .where('state', '=', 'failed')
    .where('ended_at', '>', daysAgo(7))
    .orderBy('ended_at', 'desc')
    .orderBy('id', 'desc')
    .limit(most)
    .execute();
}

/** The last ended run of each resource where it failed, newest first. */
export function failedLast(db: Db, source: string, resources: readonly string[]): Promise<Run[]> {
  return db
    .selectFrom(sql<{ name: string }>`unnest(${resources}::text[])`.as<'of_resource'>(sql`of_resource(name)`))
    .crossJoinLateral(eb =>
      eb
        .selectFrom('sluice.runs')
        .selectAll()
        .where('source', '=', source)
        .whereRef('resource', '=', 'of_resource.name')
        .where(notAhead('ended_at'))
        .orderBy('ended_at', 'desc')
        .orderBy('id', 'desc')
        .limit(1)
        .as('r'),
    )
    .select(runColumns)
    .where('state', '=', 'failed')
    .orderBy('ended_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
}

/** Where a list seems to end although nothing agrees with that, or where the source is known to cut it off. */
export interface UnprovenEnd {
  readonly verdict: 'open' | 'cut';
  readonly rows: number;
  /** The rows that the source counts, where these are more than it shows. */
  readonly counted: number | null;
}

/** SQL: the end of the list of these expressions, if it is not agreed; null for a list that date windows prove. */
export const unprovenEnd = (source: RawBuilder<unknown>, resource: RawBuilder<unknown>) => sql<UnprovenEnd | null>`
  (select jsonb_build_object('verdict', e.value::jsonb->'verdict', 'rows', e.value::jsonb->'rows',
    'counted', e.value::jsonb->'counted') from sluice.traits e
    where e.source = ${source} and e.resource = ${resource} and e.trait = 'end'
      and case when e.trait = 'end' then e.value::jsonb->>'verdict' end <> 'agreed'
      and exists (select from sluice.coverage c where c.source = e.source and c.resource = e.resource
        and (c.slice = 'whole' or c.slice like 'id %')))`;

/** How new the table of a resource is, and what disagrees with it. */
export interface TableState {
  /** As Postgres writes it. */
  readonly newestChange: string | null;
  /** Months (`YYYY-MM`) whose rows do not add up to the totals of the source's own report. */
  readonly apart: readonly string[];
  /** Null where the list is known to end where it seems to. */
  readonly end: UnprovenEnd | null;
}

/** SQL: a table known at run time, by its index, and look-ups in two others. */
export async function tableState(
  db: Db,
  { source, resource, schema }: Place & { readonly schema: string },
): Promise<TableState> {
  const { rows } = await sql<TableState>`
    select max(_synced_at) as "newestChange",
      (select coalesce(array_agg(substr(slice, 7) order by slice), '{}') from sluice.coverage where source = ${source}
        and resource = ${resource} and slice like 'total %' and due_reason is not null) as apart,
      ${unprovenEnd(sql`${source}`, sql`${resource}`)} as "end"
    from ${sql.id(schema, resource)}`.execute(db);
  return rows[0] as TableState;
}

export interface Spending {
  /** `slot`, `hint`, `sync`, `backfill`, `verify` or `refresh`; `other` for requests without a run. */
  readonly kind: string;
  readonly resource: string;
  readonly requests: number;
}

/** The requests of the last hour by purpose, the most first. SQL: grouped by expressions. */
export async function spending(db: Db, source: string): Promise<Spending[]> {
  const { rows } = await sql<Spending>`
    select coalesce(u.kind, 'other') as kind, coalesce(u.resource, split_part(q.purpose, ' ', 1), 'under way') as resource,
      count(*)::int as requests
    from sluice.requests q left join sluice.runs u on u.id = q.run_id
    where q.source = ${source} and q.granted_at > sluice.now() - interval '1 hour'
    group by 1, 2 order by 3 desc, 1, 2`.execute(db);
  return rows;
}

/** A text that differs once a run, an order or an incident began, ended or waits. SQL: one statement over the open ones. */
export async function readStateMark(db: Db): Promise<string> {
  const { rows } = await sql<{ mark: string }>`
    select concat_ws('/', (select max(id) from sluice.runs),
      (select string_agg(concat_ws(' ', id, state, waiting_until), ',' order by id) from sluice.runs where state in ('running', 'waiting')),
      (select string_agg(concat_ws(' ', id, state, reason), ',' order by id) from sluice.orders where state in ('waiting', 'running', 'paused')),
      (select string_agg(id::text, ',' order by id) from sluice.incidents where ended_at is null)) as mark`.execute(db);
  return rows[0]?.mark ?? '';
}
