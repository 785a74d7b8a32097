import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sluice.budgets add column if not exists server_window_ms double precision`.execute(db);
  await sql`comment on column sluice.budgets.server_window_ms is 'Over how long the source counts that limit, if less than our window'`.execute(
    db,
  );
}
