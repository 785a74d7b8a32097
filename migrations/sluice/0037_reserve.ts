import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sluice.budgets add column if not exists reserve integer, add column if not exists reserve_until timestamptz`.execute(
    db,
  );
  await sql`comment on column sluice.budgets.reserve is 'Requests that a process last left to other programs.'`.execute(
    db,
  );
  await sql`comment on column sluice.budgets.reserve_until is 'Until when the other processes leave them, too.'`.execute(
    db,
  );
}
