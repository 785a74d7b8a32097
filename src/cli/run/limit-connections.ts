import type { Database } from '../../warehouse/database/database.ts';

/**
 * Caps the pool at this process's share of Postgres's connections and returns how many sources it may read at once. A process
 * takes at most three tenths of max_connections, so that three processes and some people fit: 200 sources with six connections
 * each were refused, and nothing was read. Each source read holds one connection for its lock; the rest are held only during a
 * query, so one more per source is enough.
 */
export async function limitConnections(database: Database, sources: number): Promise<number> {
  const { rows } = await database.query<{ most: number }>("select current_setting('max_connections')::int as most");
  const share = Math.max(Math.floor(0.3 * (rows[0]?.most ?? 0)), 8);
  const atOnce = Math.min(sources, Math.floor((share - 1) / 2));
  database.pool.options.max = Math.min(6 + 5 * atOnce, share - atOnce);
  return atOnce;
}
