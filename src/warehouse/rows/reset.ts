import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import type { Place } from '../ledgers/place.ts';

/**
 * Forgets a resource: its rows, their children and history, and what is known of its slices. The cursor stays, with a new
 * version, so that nobody who read it before can write. Runs, slots and requests are a record of what was done and stay too.
 */
export async function resetResource(
  tx: Db,
  place: Place,
  tables: { schema: string; table: string; children: readonly string[] },
): Promise<{ rows: number }> {
  const { source, resource } = place;
  const { schema } = tables;
  // Of two that were read into one schema, what the other knows is of the same rows.
  const sources = sql`(select ${source} union select source from sluice.sources where schema = ${schema})`;
  const { rows } = await sql<{ count: number }>`
    with gone as (delete from ${sql.id(schema, tables.table)} returning 1) select count(*)::float8 as count from gone`.execute(
    tx,
  );
  for (const child of tables.children) await sql`delete from ${sql.id(schema, child)}`.execute(tx);
  await sql`delete from ${sql.id(schema, 'row_history')} where resource = ${resource}`.execute(tx);
  for (const table of ['coverage', 'row_windows', 'missing', 'traits', 'quarantine', 'whole_keys'])
    await sql`delete from ${sql.id('sluice', table)} where source in ${sources} and resource = ${resource}`.execute(tx);
  await sql`update sluice.cursors set version = version + 1, readings = '{}', position = null
    where source in ${sources} and resource = ${resource}`.execute(tx);
  await sql`update sluice.orders set state = 'cancelled', reason = 'The resource was reset.', ended_at = sluice.now()
    where source in ${sources} and resource = ${resource} and state in ('waiting', 'running', 'paused')`.execute(tx);
  return { rows: rows[0]?.count ?? 0 };
}
