import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // A window asks for the rows that it returned, at every reading; by key alone that goes through all of the resource.
  await sql`create index row_windows_by_date on sluice.row_windows (source, resource, date_from)`.execute(db);
}
