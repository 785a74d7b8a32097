import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { epochMs } from '../database/now.ts';
import { covering } from '../ledgers/coverage.ts';
import { type Counts, eachCounter } from '../ledgers/runs.ts';
import { type UnprovenEnd, unprovenEnd } from './state-queries.ts';

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
