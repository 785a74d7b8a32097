import { type Kysely, sql } from 'kysely';

// A row that appeared after its list was first proven is not believed deleted at once: a replica that lags behind may lack it.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sluice.cursors add column first_proven_at timestamptz`.execute(db);
}
