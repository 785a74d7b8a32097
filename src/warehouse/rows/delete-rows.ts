import { sql } from 'kysely';
import { DAY } from '../../clock.ts';
import { lossLimitOf, withinLossLimit } from '../../engine/deletion/loss-limit.ts';
import { arrayOf } from '../database/arrays.ts';
import type { Db } from '../database/database.ts';
import { lockForTransaction } from '../database/lock-key.ts';
import type { Place } from '../ledgers/sources.ts';
import { releaseRows } from './held-values.ts';
import { unmarkMissing } from './missing-rows.ts';
import { forgetWindows } from './row-windows.ts';
import type { Table } from './tables.ts';
import { copyToHistory } from './write/row-history.ts';

/** The state of a resource's loss limit. */
export interface RowLossLimit {
  /** Rows missing now, without those that their own address or related rows have shown within two days. */
  readonly missing: number;
  /** Rows deleted in the last 24 hours, without accepted ones. */
  readonly lost: number;
  /** The most that `missing` and `lost` may be together. */
  readonly limit: number;
  /** Rows stored now, with those that are missing. */
  readonly stored: number;
  /** Missing rows that went missing lately, or that few readings lacked. */
  readonly unsettled: number;
}

/** `beyond`: nothing was deleted, because it would have passed the loss limit. */
export type DeleteResult = { readonly deleted: string[] } | { readonly beyond: RowLossLimit };

/** Moves rows that are proven deleted to `row_history`, unless that passes the loss limit; up to `accepted` rows may go in any case. */
export async function deleteRows(
  tx: Db,
  table: Table,
  place: Place,
  named: readonly string[],
  { runId, accepted, lagMs = 0 }: { runId: string | null; accepted: number; lagMs?: number },
): Promise<DeleteResult> {
  // Named twice, a row would be moved twice.
  const keys = [...new Set(named)];
  if (keys.length === 0) return { deleted: [] };
  // Two processes must not both find room below the limit.
  await lockForTransaction(tx, 'fuse', `${table.schema}.${table.name}`);
  // Before the numbers, as an undo does.
  await sql`lock table ${sql.id(table.schema, table.name)} in row exclusive mode`.execute(tx);
  const limit = await readRowLossLimit(tx, table, place);
  if (!withinRowLossLimit(limit, { count: keys.length, accepted })) return { beyond: limit };
  const deleted = await copyToHistory(tx, table, place, { keys, runId, lagMs });
  for (const child of table.children) await deleteByKey(tx, table, child.name, child.parent, deleted);
  await deleteByKey(tx, table, table.name, table.key.name, deleted);
  await forgetWindows(tx, place, deleted);
  await releaseRows(tx, place, keys);
  await unmarkMissing(tx, place, keys);
  return { deleted };
}

async function deleteByKey(tx: Db, table: Table, from: string, column: string, keys: readonly string[]): Promise<void> {
  await sql`delete from ${sql.id(table.schema, from)} t using unnest(${arrayOf(table.key.type, keys)}) as k(key)
    where t.${sql.id(column)} = k.key`.execute(tx);
}

/**
 * As many deletions as somebody accepted are not counted as lost; what an order deleted earlier than that used up its part of them. SQL: tables
 * known at run time.
 */
export async function readRowLossLimit(db: Db, table: Table, place: Place): Promise<RowLossLimit> {
  const { rows } = await sql<Omit<RowLossLimit, 'limit'>>`
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
      from sluice.missing where source = ${place.source} and resource = ${place.resource}
        and (shown_at is null or shown_at < sluice.now() - make_interval(secs => ${(2 * DAY) / 1000}))) m`.execute(db);
  const state = rows[0] ?? { missing: 0, lost: 0, stored: 0, unsettled: 0 };
  return { ...state, limit: lossLimitOf(state.stored + state.lost) };
}

/** A list that shows less than half of its rows is believed after so many readings and hours. */
export const BELIEVED_AFTER = { readings: 3, hours: 24 } as const;

/** Whether `count` rows may be deleted; see `withinLossLimit`. */
export function withinRowLossLimit(
  { missing, lost, limit, stored, unsettled }: RowLossLimit,
  { count, accepted }: { count: number; accepted: number },
): boolean {
  const left = stored - Math.max(missing, count);
  // An outage that answers with less is no clean-up, however few rows the list has.
  const collapses = 2 * left < stored + lost && unsettled > 0;
  return withinLossLimit({ held: missing, lost, limit }, { count, accepted, collapses });
}
