import { type RawBuilder, sql } from 'kysely';
import { anyOf } from '../database/arrays.ts';
import { BOOKKEEPING_TABLES, type SluiceTables, wordsOf } from '../database/bookkeeping-tables.ts';
import type { Db } from '../database/database.ts';
import { fromNow, NOW } from '../database/now.ts';
import type { Place } from './sources.ts';

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
  /** Rows read that came with bytes that are invalid in the answer's encoding; U+FFFD replaces them. */
  replaced: number;
}

export const RUN_STATES = wordsOf(BOOKKEEPING_TABLES['sluice.runs'].state);
export type RunState = (typeof RUN_STATES)[number];

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

const COUNTERS = {
  requests: 'requests',
  slices: 'slices',
  rowsRead: 'rows_read',
  inserted: 'inserted',
  updated: 'updated',
  unchanged: 'unchanged',
  revived: 'revived',
  missing: 'missing',
  deleted: 'deleted',
  quarantined: 'quarantined',
  replaced: 'replaced',
} as const satisfies Record<keyof Counts, keyof SluiceTables['sluice.runs']>;
export const eachCounter = <T>(fn: (name: keyof Counts, column: string) => T): T[] =>
  Object.entries(COUNTERS).map(([name, column]) => fn(name as keyof Counts, column));

export const noCounts = (): Counts => Object.fromEntries(eachCounter(name => [name, 0])) as unknown as Counts;

export function addCounts(to: Counts, more: Partial<Counts>): void {
  for (const [name, value] of Object.entries(more) as [keyof Counts, number][]) to[name] += value;
}

/** Starts a run, or resumes one that waits for the request limit and has no process. SQL: either happens in one statement. */
export async function startRun(
  db: Db,
  run: { source: string; resource: string; kind: string; orderId: string | null; slotAt: string | null },
): Promise<string> {
  const { source, resource, kind, orderId, slotAt } = run;
  const { rows } = await sql<{ id: string }>`
    with kept as (
      update sluice.runs set state = 'running', waiting_until = null, reason = null, slot_at = coalesce(cast(${slotAt} as timestamptz), slot_at)
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

/** Records that runs were undone; returns the id of the run that did it. */
export async function recordUndo(
  db: Db,
  place: Place,
  did: { readonly updated: number; readonly revived: number; readonly reason: string },
): Promise<string> {
  const run = { ...place, ...did, kind: 'undo', state: 'done', started_at: NOW, ended_at: NOW } as const;
  const { id } = await db.insertInto('sluice.runs').values(run).returning('id').executeTakeFirstOrThrow();
  return id;
}

export interface RunCounts {
  readonly runId: string;
  readonly orderId: string | null;
  readonly counts: Partial<Counts>;
}

/** CTEs that add to the counters of runs and of their orders. Requests in flight when the run ended count too. */
export function runCtes(all: readonly RunCounts[], condition: RawBuilder<boolean>): RawBuilder<unknown> {
  const data = all.map(({ runId, orderId, counts }) => ({ ...noCounts(), ...counts, runId, orderId }));
  return sql`
    counts as materialized (
      select "runId", "orderId", sum(requests) as requests, sum(slices) as slices, sum("rowsRead") as rows_read,
        sum(inserted) as inserted, sum(updated) as updated, sum(unchanged) as unchanged, sum(revived) as revived,
        sum(missing) as missing, sum(deleted) as deleted, sum(quarantined) as quarantined, sum(replaced) as replaced
      from jsonb_to_recordset(cast(${JSON.stringify(data)} as jsonb)) as n("runId" bigint, "orderId" bigint, requests int, slices int,
        "rowsRead" int, inserted int, updated int, unchanged int, revived int, missing int, deleted int, quarantined int, replaced int)
      where ${condition}
      group by 1, 2),
    counted as (
      update sluice.runs r
      set requests = r.requests + n.requests, slices = r.slices + n.slices, rows_read = r.rows_read + n.rows_read,
        inserted = r.inserted + n.inserted, updated = r.updated + n.updated, unchanged = r.unchanged + n.unchanged,
        revived = r.revived + n.revived, missing = r.missing + n.missing, deleted = r.deleted + n.deleted,
        quarantined = r.quarantined + n.quarantined, replaced = r.replaced + n.replaced, waiting_until = null,
        state = case when ended_at is null then 'running' else state end, reason = case when ended_at is not null then reason end
      from counts n where r.id = n."runId"),
    ordered as (
      update sluice.orders o set requests = o.requests + n.requests, deleted = o.deleted + n.deleted
      from (select "orderId", sum(requests) as requests, sum(deleted) as deleted from counts group by 1) n
      where o.id = n."orderId")`;
}

/**
 * Shows runs as waiting for the request limit or, with a `reason`, for something else. A run whose row is locked is being written, so it is
 * not waiting and is skipped.
 */
export async function setRunWaiting(
  db: Db,
  ids: readonly string[],
  waitMs: number,
  reason: string | null = null,
): Promise<void> {
  await db
    .updateTable('sluice.runs')
    .set({ state: 'waiting', waiting_until: fromNow(waitMs), reason })
    .where('id', 'in', eb =>
      eb
        .selectFrom('sluice.runs')
        .select('id')
        .where('id', '=', anyOf(ids))
        .where('state', 'in', ['running', 'waiting'])
        .forUpdate()
        .skipLocked(),
    )
    .execute();
}

/** A run that had ended as done has failed after all; false if it had not. */
export async function failEndedRun(
  db: Db,
  id: string,
  { reason, next, failure }: { reason: string; next: string | undefined; failure: string },
): Promise<boolean> {
  const failed = await db
    .updateTable('sluice.runs')
    .set({ state: 'failed', reason, next: next ?? null, failure })
    .where('id', '=', id)
    .where('state', '=', 'done')
    .returning('id')
    .execute();
  return failed.length > 0;
}

/** Ends a run. Its slot is released when the run was stopped or the warehouse failed, unless the next slot goes on with it. */
export async function endRun(
  db: Db,
  id: string,
  end: {
    state: RunState;
    reason?: string | undefined;
    next?: string | undefined;
    failure?: string | undefined;
    keepsSlot?: boolean;
  },
): Promise<void> {
  const { state, reason = null, next = null, failure = null, keepsSlot = false } = end;
  await db
    .with('ended', query =>
      query
        .updateTable('sluice.runs')
        .set({ state, reason, next, failure, waiting_until: null, ended_at: NOW })
        .where('id', '=', id)
        .where('ended_at', 'is', null)
        .returning(['id', 'state', 'failure']),
    )
    .updateTable('sluice.slots')
    .set({ run_id: null })
    .where('run_id', 'in', eb =>
      eb
        .selectFrom('ended')
        .select('id')
        .where(ended => ended.or([ended('state', '=', 'stopped'), ended('failure', '=', 'database')]))
        .where(sql<boolean>`not ${keepsSlot}`),
    )
    .execute();
}

/** Leaves runs waiting for the request limit and releases their slots, so that the next reader resumes both. */
export async function keepWaiting(db: Db, ids: readonly string[], waitMs: number): Promise<void> {
  await db
    .with('kept', query =>
      query
        .updateTable('sluice.runs')
        .set({ state: 'waiting', waiting_until: fromNow(waitMs), reason: null })
        .where('id', '=', anyOf(ids))
        .where('ended_at', 'is', null)
        .returning('id'),
    )
    .updateTable('sluice.slots')
    .set({ run_id: null })
    .where('run_id', 'in', eb => eb.selectFrom('kept').select('id'))
    .execute();
}

/** Only for the request limit does a run wait without a process; one that waits for something else, with a reason, has one. */
const isUnderWay = sql`(state = 'running' or reason is not null)`;

/** This many consecutive runs of a resource whose process ended before they read a slice are no accident. */
const MOST_ABANDONED = 5;

/**
 * Ends runs whose process is gone, and releases their slots; only the new holder of the source's lock calls it. Runs left waiting for
 * the request limit stay while their order or slot is open. SQL: it looks over the runs before each.
 */
export async function endAbandonedRuns(db: Db, source: string): Promise<void> {
  await sql`
    with gone as (
      select id, ${isUnderWay} and slices = 0 and ${MOST_ABANDONED - 1} = (
          select count(*) filter (where p.failure = 'abandoned' and p.slices = 0) from (
            select failure, slices from sluice.runs p where p.source = r.source and p.resource = r.resource and p.kind = r.kind and p.id < r.id
              and p.ended_at is not null order by p.id desc limit ${MOST_ABANDONED - 1}) p) as hopeless
      from sluice.runs r
      where source = ${source} and ended_at is null and not (not ${isUnderWay} and (
        exists (select from sluice.orders o where o.id = r.order_id and o.state = 'waiting')
        or exists (select from sluice.slots s where s.source = r.source and s.resource = r.resource
          and s.slot_at >= r.slot_at and s.run_id is null)))),
    ended as (
      update sluice.runs r set
        state = case when hopeless then 'failed' else 'stopped' end,
        failure = case when ${isUnderWay} then 'abandoned' end,
        reason = case
          when hopeless then ${`Its process ended without a word, as did those of the ${MOST_ABANDONED - 1} runs before, and none of them read a slice.`}
          when not ${isUnderWay} then 'It waited for the request limit, and another run went on.'
          else 'Its process ended without a word; the next run went on from the last commit.' end,
        next = case when hopeless then 'It is tried again. See how the process ends: in its log, or that of what runs it (out of memory?).' end,
        waiting_until = null, ended_at = sluice.now()
      from gone where gone.id = r.id
      returning r.id)
    update sluice.slots set run_id = null where run_id in (select id from ended)`.execute(db);
}
