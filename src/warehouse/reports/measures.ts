import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { daysAgo } from '../database/now.ts';
import { covering } from '../ledgers/coverage.ts';
import type { RunState } from '../ledgers/runs.ts';

// Measured at every scrape, from the bookkeeping; tables of the source's rows are counted only when they have changed.

export interface ResourceMeasures {
  readonly resource: string;
  readonly provenInADay: number;
  readonly older: number;
  readonly neverRead: number;
  /** Null while a slice was never read. */
  readonly oldestProofSeconds: number | null;
  readonly missing: number;
  readonly quarantined: number;
}

/** In the order of `tables`. SQL: tables known at run time. */
export async function countTables(db: Db, schema: string, tables: readonly string[]): Promise<number[]> {
  if (tables.length === 0) return [];
  const counts = tables.map(table => sql`(select count(*) from ${sql.id(schema, table)})`);
  const { rows } = await sql<{ counts: number[] }>`select array[${sql.join(counts)}]::float8[] as counts`.execute(db);
  return rows[0]?.counts ?? [];
}

/** SQL: a lateral aggregate per resource. */
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
    cross join lateral (select count(*) filter (where proven_at > sluice.now() - interval '1 day')::float8 as "provenInADay",
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
  readonly state: RunState;
  readonly runs: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
}

/** Runs that ended in the last 24 hours, and open ones. */
export function runMeasures(db: Db, source: string): Promise<RunMeasures[]> {
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

/** Seconds until the first run that waits for the request limit may continue; null when none waits. */
export async function waitingSeconds(db: Db, source: string): Promise<number | null> {
  const first = await db
    .selectFrom('sluice.runs')
    .select(sql<number>`greatest(extract(epoch from min(waiting_until) - sluice.now()), 0)::float8`.as('seconds'))
    .where('source', '=', source)
    .where('state', '=', 'waiting')
    .where('reason', 'is', null)
    .having(eb => eb.fn.min('waiting_until'), 'is not', null)
    .executeTakeFirst();
  return first?.seconds ?? null;
}
