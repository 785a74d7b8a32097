import { type Kysely, sql } from 'kysely';

// The secret addresses for webhooks are not for the login that may only read. The embedded server's may read every table that the
// owner creates; `sluice grant` leaves this one out.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    do $$ begin
      if to_regrole('sluice_reader') is not null then
        revoke select on sluice.receivers from sluice_reader;
      end if;
    end $$`.execute(db);
}
