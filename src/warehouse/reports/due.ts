import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { epochMs } from '../database/now.ts';
import { isLockWanted } from '../database/source-lock.ts';
import { rests } from '../ledgers/orders.ts';

interface Due {
  readonly now: boolean;
  /** Epoch milliseconds when the first run that waits for the request limit may continue; null when none waits. */
  readonly at: number | null;
}

/**
 * Due are an open order that does not rest, a slot that no run took, and a run that has not ended (unless its process holds the source's
 * lock, it is gone). Work that waits for the request limit is due once that permits. SQL: one statement over three tables.
 */
export async function whatIsDue(db: Db, source: string): Promise<Due> {
  const { rows } = await sql<Due>`
    with waiting as materialized (
      select resource, order_id, waiting_until from sluice.runs
      where source = ${source} and ended_at is null and state = 'waiting' and reason is null and waiting_until > sluice.now())
    select ${epochMs('(select min(waiting_until) from waiting)')} as at,
      exists (select from sluice.orders where source = ${source} and state in ('waiting', 'running') and not ${rests}
        and not exists (select from waiting w where w.order_id = orders.id))
      or exists (select from sluice.slots s where source = ${source} and run_id is null
        and not exists (select from waiting w where w.resource = s.resource and w.order_id is null))
      or exists (select from sluice.runs r where source = ${source} and ended_at is null
        and not (state = 'waiting' and reason is null and waiting_until > sluice.now())) as now`.execute(db);
  return rows[0] ?? { now: false, at: null };
}

/** What waits for the loop that reads a source. */
interface WaitingWork {
  /** The moment of the look (epoch ms). */
  readonly now: number;
  readonly orders: boolean;
  readonly hints: boolean;
  readonly slots: boolean;
  /** A command waits for the source's lock: a service that only keeps its pace gives it up then. */
  readonly isWanted: boolean;
}

/** Looks for open orders, hints and slots, whether or not they are due, and for commands that wait. SQL: one statement, since the loop looks every few seconds. */
export async function lookForWork(db: Db, source: string): Promise<WaitingWork> {
  const { rows } = await sql<WaitingWork>`
    select ${epochMs('sluice.now()')} as now,
      exists (select from sluice.orders where source = ${source} and state in ('waiting', 'running', 'paused')) as orders,
      exists (select from sluice.hints where source = ${source}) as hints,
      exists (select from sluice.slots where source = ${source} and run_id is null) as slots,
      ${isLockWanted(source)} as "isWanted"`.execute(db);
  return rows[0] as WaitingWork;
}
