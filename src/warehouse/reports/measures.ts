import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { covering } from '../ledgers/coverage.ts';

// What is measured at every scrape, from the bookkeeping alone: no table of the source's rows is counted.

export interface ResourceMeasures {
  readonly resource: string;
  /** As the slices were when they were last read; `count(*)` of a million rows would take 100 ms at every scrape. */
  readonly rows: number;
  readonly provenInADay: number;
  readonly older: number;
  readonly neverRead: number;
  /** Null while a part was never read. */
  readonly oldestProofSeconds: number | null;
  readonly missing: number;
  readonly quarantined: number;
}

export async function resourceMeasures(
  db: Db,
  source: string,
  resources: readonly string[],
): Promise<ResourceMeasures[]> {
  const { rows } = await sql<ResourceMeasures>`
    select name as resource, c.*,
      (select count(*)::float8 from sluice.missing where source = ${source} and resource = name) as missing,
      (select count(*)::float8 from sluice.quarantine where source = ${source} and resource = name and resolved_at is null) as quarantined
    from unnest(cast(${resources} as text[])) with ordinality as of_resource(name, place)
    cross join lateral (select coalesce(sum(rows), 0)::float8 as rows,
      count(*) filter (where proven_at > sluice.now() - interval '1 day')::float8 as "provenInADay",
      count(*) filter (where proven_at <= sluice.now() - interval '1 day')::float8 as older,
      count(*) filter (where proven_at is null)::float8 as "neverRead",
      case when bool_and(proven_at is not null) then extract(epoch from sluice.now() - min(proven_at))::float8 end as "oldestProofSeconds"
      from sluice.coverage where source = ${source} and resource = name and ${covering}) c
    order by place`.execute(db);
  return rows;
}

export interface RunMeasures {
  readonly resource: string;
  readonly kind: string;
  readonly state: string;
  readonly runs: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
}

/** Runs that ended in the last 24 hours, and those under way. */
export async function runMeasures(db: Db, source: string): Promise<RunMeasures[]> {
  const { rows } = await sql<RunMeasures>`
    select resource, kind, state, count(*)::float8 as runs, sum(inserted)::float8 as inserted, sum(updated)::float8 as updated,
      sum(deleted)::float8 as deleted
    from sluice.runs where source = ${source} and (ended_at is null or ended_at > sluice.now() - interval '1 day')
    group by 1, 2, 3 order by 1, 2, 3`.execute(db);
  return rows;
}

/** Until the first of the runs that wait for the request limit goes on; null when none waits. */
export async function waitingSeconds(db: Db, source: string): Promise<number | null> {
  const { rows } = await sql<{ seconds: number }>`
    select greatest(extract(epoch from min(waiting_until) - sluice.now()), 0)::float8 as seconds
    from sluice.runs where source = ${source} and state = 'waiting'
    having min(waiting_until) is not null`.execute(db);
  return rows[0]?.seconds ?? null;
}
