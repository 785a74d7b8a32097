import { sql } from 'kysely';
import type { Db } from './database.ts';

/** How long finished bookkeeping is kept, in days. Data is never touched. */
const KEPT = { requests: 7, runs: 90, quarantine: 30, slots: 90 };

const before = (days: number) => sql`sluice.now() - make_interval(days => ${days})`;

/** Forgets finished requests, runs, slots and resolved quarantine that are older than anyone asks for. */
export async function forgetOldWork(db: Db, source: string): Promise<void> {
  await sql`delete from sluice.requests where source = ${source} and granted_at < ${before(KEPT.requests)}`.execute(db);
  await sql`delete from sluice.runs where source = ${source} and ended_at < ${before(KEPT.runs)}`.execute(db);
  // The newest slot of a resource tells what was missed, however old it is.
  await sql`delete from sluice.slots s where source = ${source} and slot_at < ${before(KEPT.slots)} and exists (
    select from sluice.slots n where n.source = s.source and n.resource = s.resource and n.slot_at > s.slot_at)`.execute(
    db,
  );
  await sql`delete from sluice.quarantine where source = ${source} and resolved_at < ${before(KEPT.quarantine)}`.execute(
    db,
  );
}
