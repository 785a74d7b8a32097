import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { epochMs } from '../database/now.ts';

/** One tick of a resource's schedule. */
export interface Slot {
  readonly resource: string;
  readonly slotAt: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** The last one that was taken up, for what the limit has refilled since; null for the first. */
  readonly previousAt: number | null;
}

/** Records a slot; false when another process recorded it first. */
export async function recordSlot(db: Db, source: string, resource: string, slotAt: Date): Promise<boolean> {
  const { rows } = await sql`insert into sluice.slots (source, resource, slot_at, recorded_at)
    values (${source}, ${resource}, cast(${slotAt.toISOString()} as timestamptz), sluice.now())
    on conflict do nothing returning 1`.execute(db);
  return rows.length > 0;
}

/** A slot ahead of now was recorded before the clock was put back; counted, it would hold the schedule up until then. */
export async function lastSlotAt(db: Db, source: string, resource: string): Promise<number | null> {
  const { rows } = await sql<{ at: number | null }>`select ${epochMs('max(slot_at)')} as at
    from sluice.slots where source = ${source} and resource = ${resource} and slot_at <= sluice.now()`.execute(db);
  return rows[0]?.at ?? null;
}

/** The newest slot of each resource that no run has taken up yet; older ones are covered by it. */
export async function openSlots(db: Db, source: string): Promise<Slot[]> {
  const { rows } = await sql<Slot>`
    select distinct on (resource) resource, slot_at as "slotAt", ${epochMs('slot_at')} as at,
      (select ${epochMs('max(p.slot_at)')} from sluice.slots p
        where p.source = s.source and p.resource = s.resource and p.slot_at < s.slot_at and p.run_id is not null) as "previousAt"
    from sluice.slots s where source = ${source} and run_id is null order by resource, slot_at desc`.execute(db);
  return rows;
}

/** Gives the slot, and older ones that nobody took up, to a run. */
export async function takeSlot(db: Db, source: string, slot: Slot, runId: string): Promise<void> {
  await sql`update sluice.slots set run_id = cast(${runId} as bigint) where source = ${source} and resource = ${slot.resource}
    and run_id is null and slot_at <= cast(${slot.slotAt} as timestamptz)`.execute(db);
}
