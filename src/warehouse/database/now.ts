import { type RawBuilder, sql } from 'kysely';
import type { Database, Db } from './database.ts';

/** The clock that all durable time comes from. */
export const NOW = sql<string>`sluice.now()`;

export const fromNow = (ms: number): RawBuilder<string> =>
  sql`sluice.now() + make_interval(secs => ${ms / 1000}::float8)`;

export const daysAgo = (days: number): RawBuilder<string> =>
  sql`sluice.now() - make_interval(days => ${days}::integer)`;

/** A `timestamptz` expression as epoch milliseconds. It becomes part of the statement, so it must never come from outside. */
export const epochMs = <T extends number | null = number | null>(expression: string): RawBuilder<T> =>
  sql.raw(`(extract(epoch from ${expression}) * 1000)::float8`);

/** The moment by the clock that all durable time comes from, in epoch milliseconds. */
export const databaseNow = (database: Database): Promise<number> => readNow(database.kysely);

/** The same moment, for statements of a transaction that tell it more than once. */
export async function readNow(db: Db): Promise<number> {
  const { rows } = await sql<{ now: number }>`select ${epochMs('sluice.now()')} as now`.execute(db);
  return (rows[0] as { now: number }).now;
}
