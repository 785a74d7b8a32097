import { type Kysely, sql } from 'kysely';

// Requests are granted in one statement: one that waited for another grant of the key finds its version moved, and counts anew.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sluice.budgets add column if not exists version bigint not null default 0`.execute(db);
}
