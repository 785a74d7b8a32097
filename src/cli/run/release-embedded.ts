import type { Database } from '../../warehouse/database/database.ts';

/**
 * Gives the process its part of what Postgres takes, and returns how many of its sources it may read at once. All its connections are at
 * most three tenths of those, so that three processes and some people fit: 200 sources with six connections each were refused, and nothing
 * was read. One connection holds a source's lock while it is read; the others are only held for a query, so that as many again are enough.
 */
export async function makeRoom(database: Database, sources: number): Promise<number> {
  const { rows } = await database.query<{ most: number }>("select current_setting('max_connections')::int as most");
  const room = Math.max(Math.floor(0.3 * (rows[0]?.most ?? 0)), 8);
  const readings = Math.min(sources, Math.floor((room - 1) / 2));
  database.pool.options.max = Math.min(6 + 5 * readings, room - readings);
  return readings;
}
