import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { daysAgo } from '../database/now.ts';
import type { RunState } from '../ledgers/runs.ts';

// Measured at every scrape, from the bookkeeping; tables of the source's rows are counted only when they have changed.

/** In the order of `tables`. SQL: tables known at run time. */
export async function countTables(db: Db, schema: string, tables: readonly string[]): Promise<number[]> {
  if (tables.length === 0) return [];
  const counts = tables.map(table => sql`(select count(*) from ${sql.id(schema, table)})`);
  const { rows } = await sql<{ counts: number[] }>`select array[${sql.join(counts)}]::float8[] as counts`.execute(db);
  return rows[0]?.counts ?? [];
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
