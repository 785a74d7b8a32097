import { type Kysely, sql } from 'kysely';

// A checksum of the old kind is another number: its answer is read and compared once more.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`comment on column sluice.answers.checksum is
    'Sum of hashes of its rows and their child rows: of which transaction wrote each of them, not of what they hold.'`.execute(
    db,
  );
}
