import { sql } from 'kysely';
import { DAY } from '../../clock.ts';
import type { Db } from '../database/database.ts';
import { lockForTransaction } from '../database/lock-key.ts';
import type { Place } from '../ledgers/place.ts';
import { arrayOf } from './array-of.ts';
import { BELIEVED_AFTER, type DeletionLimit, deletionLimitOf, withinDeletionLimit } from './deletion-limit.ts';
import { markSeen } from './missing-rows.ts';
import { forgetWindows } from './row-windows.ts';
import type { Table } from './tables.ts';
import { wholeRow } from './whole-row.ts';

/** `beyond`: nothing was deleted, because it would have passed the deletion limit. */
export type DeleteResult = { readonly deleted: string[] } | { readonly beyond: DeletionLimit };

/**
 * As many deletions as somebody accepted are not counted as lost; what an order deleted earlier than that used up its part of them. SQL: tables
 * known at run time.
 */
export async function readDeletionLimit(db: Db, table: Table, place: Place): Promise<DeletionLimit> {
  const { rows } = await sql<Omit<DeletionLimit, 'limit'>>`
    with today as (
      select o.accept_deletes as accepted, o.deleted, count(*) as rows from ${sql.id(table.schema, 'row_history')} h
      left join sluice.runs r on r.id = h.run_id left join sluice.orders o on o.id = r.order_id
      where h.resource = ${place.resource} and ended_by = 'deleted'
        and valid_to > sluice.now() - make_interval(secs => ${DAY / 1000}) group by o.id)
    select m.missing, m.unsettled,
      (select coalesce(sum(greatest(rows - greatest(coalesce(accepted, 0) - greatest(coalesce(deleted, 0) - rows, 0), 0), 0)), 0)::int
        from today) as lost,
      (select count(*)::int from ${sql.id(table.schema, table.name)}) as stored
    from (select count(*)::int as missing, (count(*) filter (where readings < ${BELIEVED_AFTER.readings}
        or since > sluice.now() - make_interval(hours => ${BELIEVED_AFTER.hours})))::int as unsettled
      from sluice.missing where source = ${place.source} and resource = ${place.resource}) m`.execute(db);
  const state = rows[0] ?? { missing: 0, lost: 0, stored: 0, unsettled: 0 };
  return { ...state, limit: deletionLimitOf(state.stored + state.lost) };
}

/** Moves rows that are proven deleted to `row_history`, unless that passes the deletion limit; up to `accepted` rows may go in any case. */
export async function deleteRows(
  tx: Db,
  table: Table,
  place: Place,
  named: readonly string[],
  { runId, accepted }: { runId: string | null; accepted: number },
): Promise<DeleteResult> {
  // Named twice, a row would be moved twice.
  const keys = [...new Set(named)];
  if (keys.length === 0) return { deleted: [] };
  // Two processes must not both find room below the limit.
  await lockForTransaction(tx, 'fuse', `${table.schema}.${table.name}`);
  const limit = await readDeletionLimit(tx, table, place);
  if (!withinDeletionLimit(limit, { count: keys.length, accepted })) return { beyond: limit };
  const deleted = await copyToHistory(tx, table, { resource: place.resource, keys, runId });
  for (const child of table.children) await deleteByKey(tx, table, child.name, child.parent, deleted);
  await deleteByKey(tx, table, table.name, table.key.name, deleted);
  await forgetWindows(tx, place, deleted);
  await markSeen(tx, place, keys);
  return { deleted };
}

/** Rows with their children; returns the keys of those that are stored. */
async function copyToHistory(
  tx: Db,
  table: Table,
  { resource, keys, runId }: { resource: string; keys: readonly string[]; runId: string | null },
): Promise<string[]> {
  const key = sql.id(table.key.name);
  const { rows } = await sql<{ key: string }>`
    insert into ${sql.id(table.schema, 'row_history')} (resource, key, row, valid_from, valid_to, ended_by, run_id)
    select ${resource}, t.${key}::text, ${wholeRow(table)}, t._synced_at, sluice.now(), 'deleted', cast(${runId} as bigint)
    from unnest(${arrayOf(table.key.type, keys)}) as k(key) join ${sql.id(table.schema, table.name)} t on t.${key} = k.key
    returning key`.execute(tx);
  return rows.map(row => row.key);
}

async function deleteByKey(tx: Db, table: Table, from: string, column: string, keys: readonly string[]): Promise<void> {
  await sql`delete from ${sql.id(table.schema, from)} t using unnest(${arrayOf(table.key.type, keys)}) as k(key)
    where t.${sql.id(column)} = k.key`.execute(tx);
}
