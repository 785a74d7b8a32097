import { type Kysely, sql } from 'kysely';

/** What earlier refreshes left due is not known. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sluice.orders add column if not exists left_due boolean not null default true`.execute(db);
  await sql`alter table sluice.orders alter column left_due set default false`.execute(db);
  await sql`comment on column sluice.orders.left_due is
    'What the readings of a refresh did not show made parts of the list due.'`.execute(db);
}
