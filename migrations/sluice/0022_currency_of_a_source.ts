import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sluice.sources add column if not exists currency text`.execute(db);
  await sql`comment on column sluice.sources.currency is 'What its amounts are in (SOURCE_CURRENCY); null: not set.'`.execute(
    db,
  );
}
