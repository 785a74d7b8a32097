import { type Kysely, sql } from 'kysely';

// `lacked_at`: when the last of the `readings` had ended. A cache may repeat an answer, so another one counts only after a while.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sluice.missing
    add column if not exists lacked_at timestamptz not null default sluice.now()`.execute(db);
}
