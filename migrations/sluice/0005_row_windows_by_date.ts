import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // Each reading of a window looks up the rows that it returned; by key alone that scans the whole resource.
  await sql`create index row_windows_by_date on sluice.row_windows (source, resource, date_from)`.execute(db);
}
