import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // What was proven of one schema's tables would be taken for proven of another's. Null until the source is read again.
  await sql`alter table sluice.sources add column schema text`.execute(db);
}
