import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // `sluice sync --full`: whoever serves the order must know that it reads everything.
  await sql`alter table sluice.orders add column whole boolean not null default false`.execute(db);
}
