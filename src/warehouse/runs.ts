import { sql } from 'kysely';
import type { Db } from './database.ts';

/** What one attempt at an order or slot did. */
export interface Counts {
  requests: number;
  slices: number;
  rowsRead: number;
  inserted: number;
  updated: number;
  unchanged: number;
  revived: number;
  missing: number;
  deleted: number;
  quarantined: number;
}

export type RunState = 'running' | 'waiting' | 'done' | 'failed' | 'stopped';

export interface Run extends Counts {
  readonly id: string;
  readonly resource: string;
  readonly kind: string;
  readonly state: RunState;
  readonly reason: string | null;
  readonly next: string | null;
  readonly waitingUntil: string | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
}

export const noCounts = (): Counts => ({
  requests: 0,
  slices: 0,
  rowsRead: 0,
  inserted: 0,
  updated: 0,
  unchanged: 0,
  revived: 0,
  missing: 0,
  deleted: 0,
  quarantined: 0,
});

export function addCounts(to: Counts, more: Partial<Counts>): void {
  for (const [name, value] of Object.entries(more) as [keyof Counts, number][]) to[name] += value;
}

export async function startRun(
  db: Db,
  run: { source: string; resource: string; kind: string; orderId: string | null; slotAt: string | null },
): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    insert into sluice.runs (source, resource, kind, order_id, slot_at, started_at)
    values (${run.source}, ${run.resource}, ${run.kind}, cast(${run.orderId} as bigint), cast(${run.slotAt} as timestamptz), sluice.now())
    returning id`.execute(db);
  return (rows[0] as { id: string }).id;
}

/** Adds to the counters of a run, and of its order, in the transaction that wrote the rows. */
export async function addToRun(tx: Db, id: string, orderId: string | null, more: Partial<Counts>): Promise<void> {
  const counts = { ...noCounts(), ...more };
  await sql`
    with ordered as (
      update sluice.orders set requests = requests + ${counts.requests}, deleted = deleted + ${counts.deleted}
      where id = cast(${orderId} as bigint)
    )
    update sluice.runs set requests = requests + ${counts.requests}, slices = slices + ${counts.slices},
      rows_read = rows_read + ${counts.rowsRead}, inserted = inserted + ${counts.inserted}, updated = updated + ${counts.updated},
      unchanged = unchanged + ${counts.unchanged}, revived = revived + ${counts.revived}, missing = missing + ${counts.missing},
      deleted = deleted + ${counts.deleted}, quarantined = quarantined + ${counts.quarantined}, state = 'running', waiting_until = null
    where id = cast(${id} as bigint)`.execute(tx);
}

/** Shows runs as waiting for the request limit. A run that is being written just now is not waiting, and is left alone. */
export async function setRunWaiting(db: Db, ids: readonly string[], waitMs: number): Promise<void> {
  await sql`update sluice.runs set state = 'waiting', waiting_until = sluice.now() + make_interval(secs => ${waitMs / 1000})
    where id in (select id from sluice.runs where id = any(cast(${ids} as bigint[])) and state in ('running', 'waiting')
      for update skip locked)`.execute(db);
}

export async function endRun(
  db: Db,
  id: string,
  end: { state: RunState; reason?: string | undefined; next?: string | undefined; failure?: string | undefined },
): Promise<void> {
  await sql`update sluice.runs set state = ${end.state}, reason = ${end.reason ?? null}, next = ${end.next ?? null},
      failure = ${end.failure ?? null}, waiting_until = null, ended_at = sluice.now()
    where id = cast(${id} as bigint) and ended_at is null`.execute(db);
}

/** Runs whose process is gone: the new holder of the source's lock ends them. */
export async function endAbandonedRuns(db: Db, source: string): Promise<void> {
  await sql`update sluice.runs set state = 'stopped', reason = 'Its process ended without a word; the next run went on from the last commit.',
      waiting_until = null, ended_at = sluice.now()
    where source = ${source} and ended_at is null`.execute(db);
}

export async function lastRuns(db: Db, source: string, most: number): Promise<Run[]> {
  const { rows } = await sql<Run>`
    select id, resource, kind, state, reason, next, waiting_until as "waitingUntil", started_at as "startedAt", ended_at as "endedAt",
      requests::int as requests, slices::int as slices, rows_read::int as "rowsRead", inserted::int as inserted, updated::int as updated,
      unchanged::int as unchanged, revived::int as revived, missing::int as missing, deleted::int as deleted, quarantined::int as quarantined
    from sluice.runs where source = ${source} order by id desc limit ${most}`.execute(db);
  return rows;
}
