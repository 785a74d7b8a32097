import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // Rows read in which U+FFFD replaces bytes that the source sent in no valid encoding.
  await sql`alter table sluice.runs add column replaced bigint not null default 0`.execute(db);
}
