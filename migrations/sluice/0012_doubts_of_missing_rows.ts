import { type Kysely, sql } from 'kysely';

// `readings`: a list that suddenly shows less than half of its rows is believed after several readings. `half`: the reading that
// lacked the row first lacked at least half of its slice. `unreadable`: a record
// that could not be read, and that appeared when the row went missing, may be the row.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table sluice.missing
      add column readings integer not null default 1,
      add column half boolean not null default false,
      add column unreadable boolean not null default false`.execute(db);
}
