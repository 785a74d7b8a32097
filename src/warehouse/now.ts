import { sql } from 'kysely';
import type { Database } from './database.ts';

/** The moment by the clock that all durable time comes from, in epoch milliseconds. */
export async function databaseNow(database: Database): Promise<number> {
  const { rows } = await sql<{ now: number }>`select (extract(epoch from sluice.now()) * 1000)::float8 as now`.execute(
    database.kysely,
  );
  return (rows[0] as { now: number }).now;
}
