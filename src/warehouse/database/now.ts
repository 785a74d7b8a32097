import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';

/** A `timestamptz` expression as epoch milliseconds. Written into the statement as it is, so never from outside. */
export const epochMs = (expression: string): RawBuilder<number | null> =>
  sql.raw(`(extract(epoch from ${expression}) * 1000)::float8`);

/** The moment by the clock that all durable time comes from, in epoch milliseconds. */
export async function databaseNow(database: Database): Promise<number> {
  const { rows } = await sql<{ now: number }>`select ${epochMs('sluice.now()')} as now`.execute(database.kysely);
  return (rows[0] as { now: number }).now;
}
