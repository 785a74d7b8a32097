import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { forgetList } from '../database/forget-list.ts';
import { NOW } from '../database/now.ts';
import type { Place } from '../ledgers/sources.ts';
import { eraseSealed } from './seals.ts';
import { eraseLogged } from './write/change-log.ts';

/**
 * Forgets a resource: its rows, their children and history, and what is known of its slices; of its rows in closed months, the hashes stay. Its
 * orders are cancelled.
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
  await eraseLogged(tx, { schema, resource });
  await eraseSealed(tx, { schema, resource });
  await forgetList(tx, sources, resource);
  await tx
    .updateTable('sluice.orders')
    .set({ state: 'cancelled', reason: 'The resource was reset.', ended_at: NOW })
    .where('source', 'in', sources)
    .where('resource', '=', resource)
    .where('state', 'in', ['waiting', 'running', 'paused'])
    .execute();
  return { rows: rows[0]?.count ?? 0 };
}
