import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sluice.receivers add column if not exists previous text unique`.execute(db);
  await sql`
    comment on column sluice.receivers.previous is 'The secret before, accepted for seven days after made_at; null: there was none.'`.execute(
    db,
  );
  await sql`comment on column sluice.receivers.made_at is 'When the secret was created.'`.execute(db);
}
