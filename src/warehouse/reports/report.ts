import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { epochMs } from '../database/now.ts';
import { covering, notOffered } from '../ledgers/coverage.ts';
import type { Counts, Run } from '../ledgers/runs.ts';

// Read-only questions about the work and its state, for people; nothing that decides uses them.

/** What the runs of one order did. */
export interface OrderWork extends Counts {
  readonly orderId: string;
  readonly seconds: number;
  /** Epoch milliseconds; null while it does not wait for the request limit. */
  readonly waitingUntil: number | null;
  /** Rows of the resource that are missing now. */
  readonly missingNow: number;
  /** Records of the resource that are in quarantine now. */
  readonly quarantinedNow: number;
}

const COUNTERS = Object.entries({
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
} satisfies Record<keyof Counts, string>);
const counters = sql.raw(COUNTERS.map(([name, column]) => `sum(${column})::float8 as "${name}"`).join(', '));
const runColumns = sql.raw(
  [
    'id, resource, kind, state, reason, next, waiting_until as "waitingUntil", started_at as "startedAt", ended_at as "endedAt"',
    ...COUNTERS.map(([name, column]) => `${column}::float8 as "${name}"`),
  ].join(', '),
);

/** Work on these orders by runs that were under way at `since` (epoch ms) or began later. */
export async function orderWork(db: Db, ids: readonly string[], since: number): Promise<OrderWork[]> {
  const { rows } = await sql<OrderWork>`
    select order_id as "orderId", ${counters},
      sum(extract(epoch from coalesce(ended_at, sluice.now()) - started_at))::float8 as seconds,
      ${epochMs("max(waiting_until) filter (where state = 'waiting')")} as "waitingUntil",
      (select count(*)::float8 from sluice.missing m where m.source = min(r.source) and m.resource = min(r.resource)) as "missingNow",
      (select count(*)::float8 from sluice.quarantine q where q.source = min(r.source) and q.resource = min(r.resource)
        and q.resolved_at is null) as "quarantinedNow"
    from sluice.runs r where order_id = any(cast(${ids} as bigint[]))
      and (ended_at is null or ended_at >= to_timestamp(${since} / 1000.0))
    group by order_id`.execute(db);
  return rows;
}

/** All of them, however long ago they began: a backfill may take days, and thousands of runs begin after it. */
export async function runsUnderWay(db: Db, source: string): Promise<Run[]> {
  const { rows } = await sql<Run>`select ${runColumns} from sluice.runs
    where source = ${source} and state in ('running', 'waiting') order by id desc`.execute(db);
  return rows;
}

/** The newest failures of the last week, newest first. */
export async function lastFailures(db: Db, source: string, resources: readonly string[], most: number): Promise<Run[]> {
  const { rows } = await sql<Run>`select ${runColumns} from sluice.runs
    where source = ${source} and resource = any(cast(${resources} as text[])) and state = 'failed'
      and ended_at > sluice.now() - interval '7 days' order by ended_at desc, id desc limit ${most}`.execute(db);
  return rows;
}

/** The last run of each resource that has ended, where it failed; newest first. */
export async function failedLast(db: Db, source: string, resources: readonly string[]): Promise<Run[]> {
  const { rows } = await sql<Run>`select ${runColumns}
    from unnest(cast(${resources} as text[])) as of_resource(name)
    cross join lateral (select * from sluice.runs where source = ${source} and resource = of_resource.name
      and ended_at is not null order by ended_at desc, id desc limit 1) r
    where state = 'failed' order by ended_at desc, id desc`.execute(db);
  return rows;
}

export interface ResourceState {
  readonly resource: string;
  readonly rows: number;
  /** As Postgres writes it. */
  readonly newestChange: string | null;
  readonly oldestProof: string | null;
  /** Slices, those proven in the last day, and those never read. */
  readonly slices: number;
  readonly provenInADay: number;
  readonly neverRead: number;
  /** The source was asked for the list, and has none. */
  readonly absent: boolean;
  readonly missing: number;
  readonly quarantined: number;
  /** Months (`YYYY-MM`) whose rows do not sum up to what the source's own report says. */
  readonly apart: readonly string[];
}

/** Counts rows, so it takes a moment on large tables. */
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
        and resource = ${resource} and slice like 'total %' and due_reason is not null) as apart
    from (select count(*)::float8 as rows, max(_synced_at) as "newestChange" from ${sql.id(place.schema, resource)}) t,
      (select count(*)::float8 as slices, min(proven_at) as "oldestProof",
        count(*) filter (where proven_at > sluice.now() - interval '1 day')::float8 as "provenInADay",
        count(*) filter (where proven_at is null)::float8 as "neverRead", ${notOffered} as absent
        from sluice.coverage where source = ${source} and resource = ${resource}
          and ${covering}) c`.execute(db);
  return rows[0] as ResourceState;
}

export interface OrderProgress {
  /** Slices of its range, and those proven since it was given. */
  readonly slices: number;
  readonly proven: number;
  /** What the last reading of the other slices cost. Those never read count one each, and are counted. */
  readonly requestsLeft: number;
  readonly neverRead: number;
}

/** How far an order is, and what it still needs as far as known. */
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
  /** `slot`, `hint`, `sync`, `backfill` or `verify`; `other` for what no run asked for. */
  readonly kind: string;
  readonly resource: string;
  readonly requests: number;
}

/** What the requests of the last hour were for, the most first. */
export async function spending(db: Db, source: string): Promise<Spending[]> {
  const { rows } = await sql<Spending>`
    select coalesce(u.kind, 'other') as kind, coalesce(u.resource, split_part(q.purpose, ' ', 1), 'under way') as resource,
      count(*)::int as requests
    from sluice.requests q left join sluice.runs u on u.id = q.run_id
    where q.source = ${source} and q.granted_at > sluice.now() - interval '1 hour'
    group by 1, 2 order by 3 desc, 1, 2`.execute(db);
  return rows;
}

/** Whether a process of one of these names is connected: a service shows itself by its connections. */
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
