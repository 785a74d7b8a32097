import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // The source of all durable time, so that tests can replace the clock of every process at once.
  await sql`
    create function sluice.now() returns timestamptz language sql volatile parallel safe
    as 'select pg_catalog.clock_timestamp()'`.execute(db);
  await sql`comment on function sluice.now() is 'The time by which Sluice decides everything that outlives a process.'`.execute(
    db,
  );

  // One row per API key: locked while requests are granted; keeps what the server last reported about the limit.
  await sql`
    create table sluice.budgets (
      key text primary key,
      -- After a 429, nobody asks before this moment.
      blocked_until timestamptz,
      -- Requests that the server counts and we do not (another program on the same key); forgotten after one window.
      withheld integer not null default 0 check (withheld >= 0),
      withheld_until timestamptz,
      -- The server's own limit, kept while it is smaller than ours; forgotten after one window.
      server_limit integer check (server_limit > 0),
      server_limit_until timestamptz,
      -- The smallest limit that a process on this key was configured with during the last window.
      rate_limit integer check (rate_limit > 0),
      rate_limit_until timestamptz,
      -- The last grant below the live lane: the next one is paced from here.
      paced_at timestamptz
    )`.execute(db);
  await sql`comment on table sluice.budgets is 'One row per API key (a hash of it): how the source limits us at the moment.'`.execute(
    db,
  );

  await sql`
    create table sluice.requests (
      id bigint generated always as identity primary key,
      key text not null,
      source text not null,
      lane text not null check (lane in ('live', 'backfill', 'verify')),
      purpose text,
      run_id bigint,
      granted_at timestamptz not null,
      -- Until when it counts against the limit: grant + time-out + window, and once answered, answer + window.
      counts_until timestamptz not null,
      settled_at timestamptz,
      status integer
    )`.execute(db);
  await sql`create index requests_counting on sluice.requests (key, counts_until)`.execute(db);
  await sql`create index requests_granted on sluice.requests (granted_at)`.execute(db);
  await sql`create index requests_run on sluice.requests (run_id) where run_id is not null`.execute(db);
  await sql`comment on table sluice.requests is 'Every request sent to a source: the ledger that keeps each rolling window within the limit.'`.execute(
    db,
  );
}
