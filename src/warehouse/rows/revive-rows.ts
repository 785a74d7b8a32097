import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { arrayOf } from './array-of.ts';
import type { Table } from './tables.ts';
import { wholeRow } from './whole-row.ts';

/** Columns that say when a row was stored and read, not what it is. */
const MOMENTS = sql`'{_synced_at,_read_at}'::text[]`;

/**
 * Forgets that rows were deleted which are back as they were, with their child rows; where all versions are kept, the deleted one becomes an
 * earlier version. Returns their keys. A row that differs may be another record to which the source has issued the id again: what is known
 * of the deleted one stays, as does everything before the latest version.
 */
export async function reviveRows(
  tx: Db,
  table: Table,
  resource: string,
  returned: readonly string[],
): Promise<string[]> {
  const history = sql.id(table.schema, 'row_history');
  const key = sql.id(table.key.name);
  const { rows } = await sql<{ key: string }>`
    with back as (select t.${key}::text as key, (${wholeRow(table)}) - ${MOMENTS} as row
      from unnest(${arrayOf(table.key.type, returned)}) as k(key) join ${sql.id(table.schema, table.name)} t on t.${key} = k.key)
    ${table.history ? sql`update ${history} h set ended_by = 'changed' from back b` : sql`delete from ${history} h using back b`}
    where h.resource = ${resource} and h.key = b.key and h.ended_by = 'deleted' and h.row - ${MOMENTS} = b.row
      and not exists (select from ${history} l where l.resource = h.resource and l.key = h.key and l.valid_to > h.valid_to)
    returning h.key`.execute(tx);
  return rows.map(row => row.key);
}
