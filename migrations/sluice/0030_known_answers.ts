import { type Kysely, sql } from 'kysely';

// What came before, and is stored as it showed it, needs neither be parsed nor compared when it comes again.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table if not exists sluice.answers (
    source text not null,
    resource text not null,
    query text not null,
    rows_before integer not null,
    page integer not null,
    rows_asked integer not null,
    digest text not null,
    fields text not null,
    keys text not null,
    checksum text not null,
    kept_at timestamptz not null default sluice.now(),
    primary key (source, resource, query, rows_before))`.execute(db);
  const comments = {
    source: 'The source.',
    resource: 'The list.',
    query: 'The filter that was asked for, empty for none.',
    rows_before: 'How many rows of the list lie before the page, by its address.',
    page: 'The page that was asked for, from 1.',
    rows_asked: 'How many rows were asked for.',
    digest: 'Digest of the answer without its count, and of all else that its rows depend on.',
    fields: 'Fields that rows of the list carry: where one of its rows omits one, it is empty.',
    keys: 'Keys of its rows in their order: runs of ids, with a minus in front where they descend, or a JSON list.',
    checksum: 'Sum of the hashes of its rows and their child rows as they are stored.',
    kept_at: 'When the answer came first.',
  };
  await sql`comment on table sluice.answers is
    'Answers whose rows are stored as they showed them. Where one comes again and the checksum still holds, its slice is proven without comparing its rows.'`.execute(
    db,
  );
  for (const [column, comment] of Object.entries(comments))
    await sql`comment on column sluice.answers.${sql.id(column)} is ${sql.lit(comment)}`.execute(db);
}
