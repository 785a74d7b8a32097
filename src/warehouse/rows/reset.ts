import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { NOW } from '../database/now.ts';
import type { Place } from '../ledgers/sources.ts';

const FORGOTTEN = [
  'sluice.coverage',
  'sluice.row_windows',
  'sluice.missing',
  'sluice.traits',
  'sluice.quarantine',
  'sluice.whole_keys',
] as const;

/**
 * Forgets a resource: its rows, their children and history, and what is known of its slices. The cursor stays, with a new version, so
 * that no earlier reader can write. Runs, slots and requests stay as a record of what was done.
 */
export async function resetResource(
  tx: Db,
  place: Place,
  tables: { schema: string; table: string; children: readonly string[] },
): Promise<{ rows: number }> {
  const { source, resource } = place;
  const { schema } = tables;
  // What another source knows of the same schema is about the same rows.
  const sources = sql<string>`(select ${source} union select source from sluice.sources where schema = ${schema})`;
  const { rows } = await sql<{ count: number }>`
    with gone as (delete from ${sql.id(schema, tables.table)} returning 1) select count(*)::float8 as count from gone`.execute(
    tx,
  );
  for (const child of tables.children) await sql`delete from ${sql.id(schema, child)}`.execute(tx);
  await sql`delete from ${sql.id(schema, 'row_history')} where resource = ${resource}`.execute(tx);
  for (const table of FORGOTTEN)
    await tx.deleteFrom(table).where('source', 'in', sources).where('resource', '=', resource).execute();
  await tx
    .updateTable('sluice.cursors')
    .set({ version: sql<string>`version + 1`, readings: '{}', position: null })
    .where('source', 'in', sources)
    .where('resource', '=', resource)
    .execute();
  await tx
    .updateTable('sluice.orders')
    .set({ state: 'cancelled', reason: 'The resource was reset.', ended_at: NOW })
    .where('source', 'in', sources)
    .where('resource', '=', resource)
    .where('state', 'in', ['waiting', 'running', 'paused'])
    .execute();
  return { rows: rows[0]?.count ?? 0 };
}
