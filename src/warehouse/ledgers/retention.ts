import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { daysAgo } from '../database/now.ts';

/** How long finished bookkeeping is kept, in days. Data is never touched. */
export interface Retention {
  /** At least the source's window and time-out: what still counts against the limit must not be forgotten. */
  readonly requests: number;
  /** Of runs and of orders. */
  readonly runs: number;
  readonly slots: number;
  /** Quarantined records that were stored in the end. */
  readonly quarantine: number;
}

export const RETENTION: Retention = { requests: 7, runs: 90, slots: 90, quarantine: 30 };

/** Forgets finished requests, runs, orders, slots and resolved quarantine once they are older than anyone asks for. */
export async function forgetOldWork(db: Db, source: string, kept: Retention = RETENTION): Promise<void> {
  await db
    .deleteFrom('sluice.requests')
    .where('source', '=', source)
    .where('granted_at', '<', daysAgo(kept.requests))
    .execute();
  await forgetOldRuns(db, source, kept.runs);
  await db
    .deleteFrom('sluice.orders')
    .where('source', '=', source)
    .where('ended_at', '<', daysAgo(kept.runs))
    .execute();
  // The newest slot of a resource shows what was missed, however old it is.
  await db
    .deleteFrom('sluice.slots as s')
    .where('source', '=', source)
    .where('slot_at', '<', daysAgo(kept.slots))
    .where(eb =>
      eb.exists(
        eb
          .selectFrom('sluice.slots as n')
          .select('n.source')
          .whereRef('n.source', '=', 's.source')
          .whereRef('n.resource', '=', 's.resource')
          .whereRef('n.slot_at', '>', 's.slot_at'),
      ),
    )
    .execute();
  await db
    .deleteFrom('sluice.quarantine')
    .where('source', '=', source)
    .where('resolved_at', '<', daysAgo(kept.quarantine))
    .execute();
}

/**
 * How the last sync of a resource ended, and when the last successful one did, shows what is wrong with it, however old it is. SQL:
 * the condition is a table of cases.
 */
async function forgetOldRuns(db: Db, source: string, days: number): Promise<void> {
  await sql`delete from sluice.runs r where source = ${source} and ended_at < ${daysAgo(days)}
    and (kind not in ('slot', 'sync') or state = 'stopped' or state = 'done' and requests = 0 or exists (
      select from sluice.runs n where n.source = r.source and n.resource = r.resource and n.kind in ('slot', 'sync') and n.ended_at > r.ended_at
        and (n.state = 'done' and n.requests > 0 or n.state = 'failed' and r.state = 'failed')))`.execute(db);
}
