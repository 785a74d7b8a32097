import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // A list that cannot be cut may be long: all keys seen so far, written with its cursor at every commit, would grow with the square of it.
  // Not logged: what a crash of Postgres takes away only makes the reading begin again.
  await sql`
    create unlogged table sluice.whole_keys (
      source text not null,
      resource text not null,
      key text not null,
      primary key (source, resource, key)
    )`.execute(db);
}
