import { sql } from 'kysely';
import type { Db } from '../database/database.ts';

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

/** A new run; or, where one waits for the request limit that nobody is at, that one goes on. */
export async function startRun(
  db: Db,
  run: { source: string; resource: string; kind: string; orderId: string | null; slotAt: string | null },
): Promise<string> {
  const { source, resource, kind, orderId, slotAt } = run;
  const { rows } = await sql<{ id: string }>`
    with kept as (
      update sluice.runs set state = 'running', waiting_until = null, slot_at = coalesce(cast(${slotAt} as timestamptz), slot_at)
      where id = (select max(id) from sluice.runs where source = ${source} and resource = ${resource} and kind = ${kind}
        and order_id is not distinct from cast(${orderId} as bigint) and state = 'waiting' and ended_at is null)
      returning id),
    made as (
      insert into sluice.runs (source, resource, kind, order_id, slot_at, started_at)
      select ${source}, ${resource}, ${kind}, cast(${orderId} as bigint), cast(${slotAt} as timestamptz), sluice.now()
      where not exists (select from kept)
      returning id)
    select id from kept union all select id from made`.execute(db);
  return (rows[0] as { id: string }).id;
}

/** Requests that the runs for a slot have used so far: a run that was stopped leaves the rest of its share to the next. */
export async function spentOnSlot(db: Db, source: string, slot: { resource: string; slotAt: string }): Promise<number> {
  const { rows } = await sql<{ requests: number }>`select coalesce(sum(requests), 0)::int as requests from sluice.runs
    where source = ${source} and resource = ${slot.resource} and kind = 'slot'
      and (slot_at = cast(${slot.slotAt} as timestamptz) or (state = 'waiting' and ended_at is null))`.execute(db);
  return rows[0]?.requests ?? 0;
}

/** Adds to the counters of a run, and of its order, in the transaction that wrote the rows. What was in flight when the run ended counts, too. */
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
      deleted = deleted + ${counts.deleted}, quarantined = quarantined + ${counts.quarantined}, waiting_until = null,
      state = case when ended_at is null then 'running' else state end
    where id = cast(${id} as bigint)`.execute(tx);
}

/** Shows runs as waiting for the request limit. A run that is being written just now is not waiting, and is left alone. */
export async function setRunWaiting(db: Db, ids: readonly string[], waitMs: number): Promise<void> {
  await sql`update sluice.runs set state = 'waiting', waiting_until = sluice.now() + make_interval(secs => ${waitMs / 1000})
    where id in (select id from sluice.runs where id = any(cast(${ids} as bigint[])) and state in ('running', 'waiting')
      for update skip locked)`.execute(db);
}

/** Ends a run. Its slot is another run's where this one was stopped, or the warehouse was what failed. */
export async function endRun(
  db: Db,
  id: string,
  end: { state: RunState; reason?: string | undefined; next?: string | undefined; failure?: string | undefined },
): Promise<void> {
  await sql`
    with ended as (
      update sluice.runs set state = ${end.state}, reason = ${end.reason ?? null}, next = ${end.next ?? null},
        failure = ${end.failure ?? null}, waiting_until = null, ended_at = sluice.now()
      where id = cast(${id} as bigint) and ended_at is null returning id, state, failure)
    update sluice.slots set run_id = null
    where run_id in (select id from ended where state = 'stopped' or failure = 'database')`.execute(db);
}

/** Leaves runs waiting for the request limit, and gives their slots back, so that whoever reads next goes on with both. */
export async function keepWaiting(db: Db, ids: readonly string[], waitMs: number): Promise<void> {
  await sql`
    with kept as (
      update sluice.runs set state = 'waiting', waiting_until = sluice.now() + make_interval(secs => ${waitMs / 1000})
      where id = any(cast(${ids} as bigint[])) and ended_at is null returning id)
    update sluice.slots set run_id = null where run_id in (select id from kept)`.execute(db);
}

/** So many runs of a resource in a row whose process ended before they had read a slice are no accident. */
const MOST_ABANDONED = 5;

/**
 * Runs whose process is gone: the new holder of the source's lock ends them, and takes up their slots again. Those that were left
 * waiting for the request limit go on, as long as their order or slot is open.
 */
export async function endAbandonedRuns(db: Db, source: string): Promise<void> {
  await sql`
    with gone as (
      select id, state = 'running' and slices = 0 and ${MOST_ABANDONED - 1} = (
          select count(*) filter (where p.failure = 'abandoned' and p.slices = 0) from (
            select failure, slices from sluice.runs p where p.source = r.source and p.resource = r.resource and p.kind = r.kind and p.id < r.id
              and p.ended_at is not null order by p.id desc limit ${MOST_ABANDONED - 1}) p) as hopeless
      from sluice.runs r
      where source = ${source} and ended_at is null and not (state = 'waiting' and (
        exists (select from sluice.orders o where o.id = r.order_id and o.state = 'waiting')
        or exists (select from sluice.slots s where s.source = r.source and s.resource = r.resource
          and s.slot_at >= r.slot_at and s.run_id is null)))),
    ended as (
      update sluice.runs r set
        state = case when hopeless then 'failed' else 'stopped' end,
        failure = case when state = 'running' then 'abandoned' end,
        reason = case
          when hopeless then ${`Its process ended without a word, as did those of the ${MOST_ABANDONED - 1} runs before, and none of them read a slice.`}
          when state = 'waiting' then 'It waited for the request limit, and another run went on.'
          else 'Its process ended without a word; the next run went on from the last commit.' end,
        next = case when hopeless then 'It is tried again. See how the process ends: in its log, or that of what runs it (out of memory?).' end,
        waiting_until = null, ended_at = sluice.now()
      from gone where gone.id = r.id
      returning r.id)
    update sluice.slots set run_id = null where run_id in (select id from ended)`.execute(db);
}
