import { sql } from 'kysely';
import type { Db } from '../database/database.ts';

/** How long finished bookkeeping is kept, in days. Data is never touched. */
export interface Retention {
  /** At least the source's window and time-out: what still counts against the limit must not be forgotten. */
  readonly requests: number;
  /** Of runs and of orders. */
  readonly runs: number;
  readonly slots: number;
  /** Records in quarantine that were stored in the end. */
  readonly quarantine: number;
}

export const RETENTION: Retention = { requests: 7, runs: 90, slots: 90, quarantine: 30 };

const before = (days: number) => sql`sluice.now() - make_interval(days => ${days})`;

/** Forgets finished requests, runs, orders, slots and resolved quarantine that are older than anyone asks for. */
export async function forgetOldWork(db: Db, source: string, kept: Retention = RETENTION): Promise<void> {
  await sql`delete from sluice.requests where source = ${source} and granted_at < ${before(kept.requests)}`.execute(db);
  // How the last sync of a resource ended, and when the last one ended well, tells what is wrong with it, however old it is.
  await sql`delete from sluice.runs r where source = ${source} and ended_at < ${before(kept.runs)}
    and (kind not in ('slot', 'sync') or state = 'stopped' or state = 'done' and requests = 0 or exists (
      select from sluice.runs n where n.source = r.source and n.resource = r.resource and n.kind in ('slot', 'sync') and n.ended_at > r.ended_at
        and (n.state = 'done' and n.requests > 0 or n.state = 'failed' and r.state = 'failed')))`.execute(db);
  await sql`delete from sluice.orders where source = ${source} and ended_at < ${before(kept.runs)}`.execute(db);
  // The newest slot of a resource tells what was missed, however old it is.
  await sql`delete from sluice.slots s where source = ${source} and slot_at < ${before(kept.slots)} and exists (
    select from sluice.slots n where n.source = s.source and n.resource = s.resource and n.slot_at > s.slot_at)`.execute(
    db,
  );
  await sql`delete from sluice.quarantine where source = ${source} and resolved_at < ${before(kept.quarantine)}`.execute(
    db,
  );
}
