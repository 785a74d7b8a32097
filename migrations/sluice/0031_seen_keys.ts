import { type Kysely, sql } from 'kysely';

// Written with the cursor, the keys of all readings of a list were written again by each commit; those of a whole list were kept apart, one by one.
// Readings under way begin again.
// Unlogged: if a crash of Postgres empties it, the readings only begin again.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create unlogged table sluice.seen_keys (
    source text not null,
    resource text not null,
    slice text not null,
    at integer not null,
    keys jsonb not null,
    primary key (source, resource, slice, at))`.execute(db);
  await sql`drop table sluice.whole_keys`.execute(db);
  const comments = {
    source: 'The source.',
    resource: 'The list.',
    slice: 'The slice that is being read.',
    at: 'How many keys the reading had seen before.',
    keys: 'Keys that one commit showed: runs of ids, and all others one by one.',
  };
  await sql`comment on table sluice.seen_keys is
    'Keys that the readings under way have seen; what lies in a slice and was not seen has left it. Empty after a crash of Postgres (unlogged).'`.execute(
    db,
  );
  for (const [column, comment] of Object.entries(comments))
    await sql`comment on column sluice.seen_keys.${sql.id(column)} is ${sql.lit(comment)}`.execute(db);
}
