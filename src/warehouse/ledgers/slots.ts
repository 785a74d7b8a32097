import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { epochMs, NOW } from '../database/now.ts';

/** One tick of a resource's schedule. */
export interface Slot {
  readonly resource: string;
  readonly slotAt: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** The last slot before it that a run took: values read since then need no reading. Null for the first. */
  readonly previousAt: number | null;
}

/**
 * Records a slot; false when another process recorded it first. One recorded ahead of now predates a backward clock step, and its time has
 * come again.
 */
export async function recordSlot(db: Db, source: string, resource: string, slotAt: Date): Promise<boolean> {
  const recorded = await db
    .insertInto('sluice.slots')
    .values({ source, resource, slot_at: slotAt.toISOString(), recorded_at: NOW })
    .onConflict(conflict =>
      conflict
        .columns(['source', 'resource', 'slot_at'])
        .doUpdateSet({ recorded_at: NOW, run_id: null })
        .where(sql<boolean>`slots.recorded_at > ${NOW}`),
    )
    .returning('source')
    .execute();
  return recorded.length > 0;
}

/** Ignores slots ahead of now: they predate a backward clock step, and would stop the schedule until their time came again. */
export async function lastSlotAt(db: Db, source: string, resource: string): Promise<number | null> {
  const last = await db
    .selectFrom('sluice.slots')
    .select(epochMs('max(slot_at)').as('at'))
    .where('source', '=', source)
    .where('resource', '=', resource)
    .where('slot_at', '<=', NOW)
    .executeTakeFirst();
  return last?.at ?? null;
}

/** The newest slot of each resource that no run has taken yet; it covers the older ones. */
export function openSlots(db: Db, source: string): Promise<Slot[]> {
  return db
    .selectFrom('sluice.slots as s')
    .distinctOn('resource')
    .select(eb => [
      'resource',
      'slot_at as slotAt',
      epochMs<number>('slot_at').as('at'),
      eb
        .selectFrom('sluice.slots as p')
        .select(epochMs('max(p.slot_at)').as('at'))
        .whereRef('p.source', '=', 's.source')
        .whereRef('p.resource', '=', 's.resource')
        .whereRef('p.slot_at', '<', 's.slot_at')
        .where('p.run_id', 'is not', null)
        .as('previousAt'),
    ])
    .where('source', '=', source)
    .where('run_id', 'is', null)
    .orderBy('resource')
    .orderBy('slot_at', 'desc')
    .execute();
}

export interface SlotRun {
  readonly runId: string;
  /** Why it failed; null if it did not. */
  readonly failure: string | null;
  /** When it started (epoch ms). */
  readonly at: number;
}

/** The run of the last slot of each resource that a run took, by resource. */
export async function lastSlotRuns(db: Db, source: string): Promise<Map<string, SlotRun>> {
  const rows = await db
    .selectFrom('sluice.slots as s')
    .innerJoin('sluice.runs as r', 'r.id', 's.run_id')
    .distinctOn('s.resource')
    .select(['s.resource', 'r.id', 'r.failure', epochMs<number>('r.started_at').as('at')])
    .where('s.source', '=', source)
    .orderBy('s.resource')
    .orderBy('s.slot_at', 'desc')
    .execute();
  return new Map(rows.map(({ resource, id, failure, at }) => [resource, { runId: String(id), failure, at }]));
}

/** Gives the slot, and older ones that nobody took, to a run. */
export async function takeSlot(db: Db, source: string, slot: Slot, runId: string): Promise<void> {
  await db
    .updateTable('sluice.slots')
    .set({ run_id: runId })
    .where('source', '=', source)
    .where('resource', '=', slot.resource)
    .where('run_id', 'is', null)
    .where('slot_at', '<=', slot.slotAt)
    .execute();
}
