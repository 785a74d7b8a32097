import { type Kysely, sql } from 'kysely';

/** Postgres refuses to change rows of a published table whose rows it cannot name. Nothing is written for it unless `wal_level` is `logical`. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table row_history replica identity full`.execute(db);
}
