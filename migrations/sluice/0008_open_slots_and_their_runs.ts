import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // A source has some 67,000 slots in the 90 days they are kept, and each look for the few open ones scanned them all.
  await sql`create index slots_open on sluice.slots (source, resource, slot_at) where run_id is null`.execute(db);
  await sql`create index slots_by_run on sluice.slots (run_id) where run_id is not null`.execute(db);
}
