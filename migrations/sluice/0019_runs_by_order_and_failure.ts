import { type Kysely, sql } from 'kysely';

// The console lists the runs of an order, and those that failed, among millions of others.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index if not exists runs_of_order on sluice.runs (order_id) where order_id is not null`.execute(db);
  await sql`create index if not exists runs_failed on sluice.runs (id desc) where state = 'failed'`.execute(db);
}
