import { type Kysely, sql } from 'kysely';

// `shown_at`: a row that its slices leave out for good is asked for once a day, not at every sync.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sluice.missing add column if not exists shown_at timestamptz`.execute(db);
  await sql`comment on column sluice.missing.shown_at is
    'When its own address, or the list of its customer, last showed the row; null if neither has.'`.execute(db);
}
