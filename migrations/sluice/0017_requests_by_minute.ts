import { type Kysely, sql } from 'kysely';

// What is older than a day is kept as counts: 10,000 sources would keep 1.7 billion requests for a week.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table if not exists sluice.requests_by_minute (
      source text not null,
      minute timestamptz not null,
      lane text not null,
      purpose text not null,
      -- 0: no complete answer came.
      status integer not null,
      requests integer not null,
      primary key (source, minute, lane, purpose, status)
    )`.execute(db);
  await sql`comment on table sluice.requests_by_minute is 'How many requests were sent in each minute, from a day ago to the end of their retention.'`.execute(
    db,
  );
}
