import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // A list that cannot be sliced may be long: writing all keys seen so far with its cursor at every commit would cost its length squared.
  // Unlogged: if a crash of Postgres empties it, the reading only begins again.
  await sql`
    create unlogged table sluice.whole_keys (
      source text not null,
      resource text not null,
      key text not null,
      primary key (source, resource, key)
    )`.execute(db);
}
