import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // Ended orders are forgotten with the runs; each sync by cron leaves one for every resource.
  await sql`create index orders_ended on sluice.orders (source, ended_at) where ended_at is not null`.execute(db);
}
