import { sql } from 'kysely';
import type { Db } from '../database/database.ts';

/**
 * Mean seconds between the change of a row, by its column `updatedAt`, and its arrival, over the rows that arrived in the last 24 hours;
 * null where none did. What was there before the first run ended is left out: it was only read late. SQL: a table known at run time; the
 * index on `_synced_at` finds the rows.
 */
export async function measuredDelay(
  db: Db,
  { source, resource, schema }: { source: string; resource: string; schema: string },
  updatedAt: string,
): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from avg(greatest(_synced_at - ${sql.id(updatedAt)}, interval '0')))::float8 as seconds
    from ${sql.id(schema, resource)}
    where _synced_at > sluice.now() - interval '1 day' and ${sql.id(updatedAt)} > (select min(ended_at) from sluice.runs
      where source = ${source} and resource = ${resource} and state = 'done')`.execute(db);
  return rows[0]?.seconds ?? null;
}
