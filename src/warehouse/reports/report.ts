import { type RawBuilder, sql } from 'kysely';
import { anyOf } from '../database/any-of.ts';
import type { SluiceTables } from '../database/bookkeeping-tables.ts';
import type { Db } from '../database/database.ts';
import { daysAgo, epochMs } from '../database/now.ts';
import { covering, notOffered } from '../ledgers/coverage.ts';
import type { Counts, Run } from '../ledgers/runs.ts';

// Read-only reports for people about the work and its state; no decision is based on them.

/** The work of the runs of one order. */
export interface OrderWork extends Counts {
  readonly orderId: string;
  readonly seconds: number;
  /** Epoch milliseconds; null unless it waits for the request limit. */
  readonly waitingUntil: number | null;
  /** Missing rows of the resource now. */
  readonly missingNow: number;
  /** Quarantined records of the resource now. */
  readonly quarantinedNow: number;
  /** Those of them that were read since the work began. */
  readonly quarantinedSince: number;
  /** Rows of the resource as of the last readings of its slices; null while one was never read. */
  readonly listed: number | null;
  /** Null where the list is known to end where it seems to. */
  readonly end: UnprovenEnd | null;
}

const COUNTERS = {
  requests: 'requests',
  slices: 'slices',
  rowsRead: 'rows_read',
  inserted: 'inserted',
  updated: 'updated',
  unchanged: 'unchanged',
  revived: 'revived',
  missing: 'missing',
  deleted: 'deleted',
  quarantined: 'quarantined',
  replaced: 'replaced',
} as const satisfies Record<keyof Counts, keyof SluiceTables['sluice.runs']>;
const eachCounter = <T>(fn: (name: keyof Counts, column: string) => T): T[] =>
  Object.entries(COUNTERS).map(([name, column]) => fn(name as keyof Counts, column));

export const runColumns = [
  'id',
  'resource',
  'kind',
  'state',
  'reason',
  'next',
  'waiting_until as waitingUntil',
  'started_at as startedAt',
  'ended_at as endedAt',
  ...eachCounter((name, column) => sql<number>`${sql.ref(column)}::float8`.as(name)),
] as const;

/** Work on these orders by runs that were open at `since` (epoch ms) or began later. SQL: aggregates and counts of three tables. */
export async function orderWork(db: Db, ids: readonly string[], since: number): Promise<OrderWork[]> {
  const { rows } = await sql<OrderWork>`
    select order_id as "orderId", ${sql.join(eachCounter((name, column) => sql`sum(${sql.ref(column)})::float8 as ${sql.id(name)}`))},
      sum(extract(epoch from coalesce(ended_at, sluice.now()) - started_at))::float8 as seconds,
      ${epochMs("max(waiting_until) filter (where state = 'waiting' and reason is null)")} as "waitingUntil",
      (select count(*)::float8 from sluice.missing m where m.source = min(r.source) and m.resource = min(r.resource)) as "missingNow",
      (select count(*)::float8 from sluice.quarantine q where q.source = min(r.source) and q.resource = min(r.resource)
        and q.resolved_at is null) as "quarantinedNow",
      (select count(*)::float8 from sluice.quarantine q where q.source = min(r.source) and q.resource = min(r.resource)
        and q.resolved_at is null and q.last_seen >= to_timestamp(${since} / 1000.0)) as "quarantinedSince",
      (select case when bool_and(rows is not null) then sum(rows) end::float8 from sluice.coverage c
        where c.source = min(r.source) and c.resource = min(r.resource) and ${covering}) as listed,
      ${unprovenEnd(sql`min(r.source)`, sql`min(r.resource)`)} as "end"
    from sluice.runs r where order_id = any(cast(${ids} as bigint[]))
      and (ended_at is null or ended_at >= to_timestamp(${since} / 1000.0))
    group by order_id`.execute(db);
  return rows;
}

/** All open runs, newest first, however long ago they began: a backfill may take days while thousands of other runs begin. */
export function runsUnderWay(db: Db, source: string): Promise<Run[]> {
  return db
    .selectFrom('sluice.runs')
    .select(runColumns)
    .where('source', '=', source)
    .where('state', 'in', ['running', 'waiting'])
    .orderBy('id', 'desc')
    .execute();
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
        .where('ended_at', 'is not', null)
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
}

/** SQL: the end of the list of these expressions, if it is not agreed; null for a list that date windows prove. */
const unprovenEnd = (source: RawBuilder<unknown>, resource: RawBuilder<unknown>) => sql<UnprovenEnd | null>`
  (select jsonb_build_object('verdict', e.value::jsonb->'verdict', 'rows', e.value::jsonb->'rows') from sluice.traits e
    where e.source = ${source} and e.resource = ${resource} and e.trait = 'end'
      and case when e.trait = 'end' then e.value::jsonb->>'verdict' end <> 'agreed'
      and exists (select from sluice.coverage c where c.source = e.source and c.resource = e.resource
        and (c.slice = 'whole' or c.slice like 'id %')))`;

export interface ResourceState {
  readonly resource: string;
  readonly rows: number;
  /** As Postgres writes it. */
  readonly newestChange: string | null;
  readonly oldestProof: string | null;
  /** All slices, those proven in the last day, and those never read. */
  readonly slices: number;
  readonly provenInADay: number;
  readonly neverRead: number;
  /** The source was asked for the list and does not have it. */
  readonly absent: boolean;
  readonly missing: number;
  readonly quarantined: number;
  /** Months (`YYYY-MM`) whose rows do not add up to the totals of the source's own report. */
  readonly apart: readonly string[];
  /** Null where the list is known to end where it seems to. */
  readonly end: UnprovenEnd | null;
}

/** Counts rows, so it takes a moment on large tables. SQL: a table known at run time, and aggregates of four others. */
export async function resourceState(
  db: Db,
  place: { source: string; resource: string; schema: string },
): Promise<ResourceState> {
  const { source, resource } = place;
  const { rows } = await sql<ResourceState>`
    select ${resource} as resource, t.*, c.*,
      (select count(*)::float8 from sluice.missing where source = ${source} and resource = ${resource}) as missing,
      (select count(*)::float8 from sluice.quarantine
        where source = ${source} and resource = ${resource} and resolved_at is null) as quarantined,
      (select coalesce(array_agg(substr(slice, 7) order by slice), '{}') from sluice.coverage where source = ${source}
        and resource = ${resource} and slice like 'total %' and due_reason is not null) as apart,
      ${unprovenEnd(sql`${source}`, sql`${resource}`)} as "end"
    from (select count(*)::float8 as rows, max(_synced_at) as "newestChange" from ${sql.id(place.schema, resource)}) t,
      (select count(*)::float8 as slices, min(proven_at) as "oldestProof",
        count(*) filter (where proven_at > sluice.now() - interval '1 day')::float8 as "provenInADay",
        count(*) filter (where proven_at is null)::float8 as "neverRead", ${notOffered} as absent
        from sluice.coverage where source = ${source} and resource = ${resource}
          and ${covering}) c`.execute(db);
  return rows[0] as ResourceState;
}

export interface OrderProgress {
  /** Slices of its range, and those proven since it was created. */
  readonly slices: number;
  readonly proven: number;
  /** Cost of the last reading of the other slices; a slice never read counts as one request. */
  readonly requestsLeft: number;
  readonly neverRead: number;
}

/** The progress of an order, and what it still needs as far as known. SQL: aggregates over a join on ranges. */
export async function orderProgress(db: Db, id: string): Promise<OrderProgress> {
  const { rows } = await sql<OrderProgress>`
    select count(*)::int as slices, (count(*) filter (where proven_at >= o.created_at))::int as proven,
      coalesce(sum(c.requests) filter (where proven_at >= o.created_at is not true), 0)::int as "requestsLeft",
      (count(*) filter (where proven_at is null))::int as "neverRead"
    from sluice.orders o join sluice.coverage c on c.source = o.source and c.resource = o.resource
      and ${covering}
      and (c.date_from is null or ((o.date_to is null or c.date_from <= o.date_to) and (o.date_from is null or c.date_to >= o.date_from)))
    where o.id = cast(${id} as bigint)`.execute(db);
  return rows[0] ?? { slices: 0, proven: 0, requestsLeft: 0, neverRead: 0 };
}

export interface Spending {
  /** `slot`, `hint`, `sync`, `backfill` or `verify`; `other` for requests without a run. */
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

/** Whether a process with one of these names is connected; a running service is recognised by its connections. */
export async function isConnected(db: Db, applicationNames: readonly string[]): Promise<boolean> {
  const { rows } = await sql<{ connected: boolean }>`
    select exists (select from pg_stat_activity where datname = current_database()
      and application_name = any(cast(${applicationNames} as text[]))) as connected`.execute(db);
  return rows[0]?.connected ?? false;
}

export async function serverVersion(db: Db): Promise<string> {
  const { rows } = await sql<{ version: string }>`select current_setting('server_version') as version`.execute(db);
  return rows[0]?.version ?? '';
}
