import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // Otherwise what is proven of one schema's tables would count for another's. Null until the source is read again.
  await sql`alter table sluice.sources add column schema text`.execute(db);
}
