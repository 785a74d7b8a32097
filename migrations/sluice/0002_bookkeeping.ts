import { type Kysely, sql } from 'kysely';

// Sluice's records of its own work. People read these tables too: docs/tables.md explains each column.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table sluice.sources (
      source text primary key,
      address text not null,
      since timestamptz not null
    )`.execute(db);

  await sql`
    create table sluice.cursors (
      source text not null,
      resource text not null,
      version bigint not null default 0,
      readings jsonb not null default '{}',
      position text,
      committed_at timestamptz,
      run_id bigint,
      primary key (source, resource)
    )`.execute(db);

  await sql`
    create table sluice.coverage (
      source text not null,
      resource text not null,
      slice text not null,
      date_from date,
      date_to date,
      id_from bigint,
      id_to bigint,
      proven_at timestamptz,
      read_at timestamptz,
      requests integer not null default 1,
      rows bigint,
      changed double precision not null default 0,
      hours_watched double precision not null default 0,
      due_since timestamptz,
      due_reason text,
      primary key (source, resource, slice)
    )`.execute(db);

  // A list without date slices is judged by all its slices.
  await sql`
    create function sluice.complete(first date, last date)
    returns table (source text, resource text, complete boolean, as_of timestamptz) language sql stable as $$
      select c.source, c.resource, bool_and(c.proven_at is not null), min(c.proven_at) from sluice.coverage c
      where c.slice = 'whole' or c.slice like 'id %' or (c.date_from <= last and c.date_to >= first)
      group by c.source, c.resource order by c.source, c.resource
    $$`.execute(db);

  await sql`
    create table sluice.row_windows (
      source text not null,
      resource text not null,
      key text not null,
      date_from date not null,
      date_to date not null,
      seen_at timestamptz not null,
      primary key (source, resource, key)
    )`.execute(db);

  await sql`
    create table sluice.missing (
      source text not null,
      resource text not null,
      key text not null,
      slice text not null,
      since timestamptz not null,
      primary key (source, resource, key)
    )`.execute(db);

  await sql`
    create table sluice.traits (
      source text not null,
      resource text not null,
      trait text not null,
      value text not null,
      evidence text not null,
      learned_at timestamptz not null,
      primary key (source, resource, trait)
    )`.execute(db);

  await sql`
    create table sluice.orders (
      id bigint generated always as identity primary key,
      source text not null,
      resource text not null,
      kind text not null check (kind in ('sync', 'backfill', 'verify')),
      date_from date,
      date_to date,
      repair boolean not null default false,
      accept_deletes bigint not null default 0,
      state text not null default 'waiting' check (state in ('waiting', 'running', 'paused', 'done', 'failed', 'cancelled')),
      reason text,
      deleted bigint not null default 0,
      requests bigint not null default 0,
      report jsonb,
      created_at timestamptz not null,
      ended_at timestamptz
    )`.execute(db);
  await sql`create index orders_open on sluice.orders (source, id) where state in ('waiting', 'running', 'paused')`.execute(
    db,
  );

  await sql`
    create table sluice.slots (
      source text not null,
      resource text not null,
      slot_at timestamptz not null,
      recorded_at timestamptz not null,
      run_id bigint,
      primary key (source, resource, slot_at)
    )`.execute(db);

  await sql`
    create table sluice.runs (
      id bigint generated always as identity primary key,
      source text not null,
      resource text not null,
      kind text not null,
      order_id bigint,
      slot_at timestamptz,
      state text not null default 'running' check (state in ('running', 'waiting', 'done', 'failed', 'stopped')),
      reason text,
      next text,
      waiting_until timestamptz,
      started_at timestamptz not null,
      ended_at timestamptz,
      requests bigint not null default 0,
      slices bigint not null default 0,
      rows_read bigint not null default 0,
      inserted bigint not null default 0,
      updated bigint not null default 0,
      unchanged bigint not null default 0,
      revived bigint not null default 0,
      missing bigint not null default 0,
      deleted bigint not null default 0,
      quarantined bigint not null default 0
    )`.execute(db);
  await sql`create index runs_by_resource on sluice.runs (source, resource, id desc)`.execute(db);
  await sql`create index runs_open on sluice.runs (source) where state in ('running', 'waiting')`.execute(db);

  await sql`
    create table sluice.quarantine (
      source text not null,
      resource text not null,
      key text not null,
      payload text not null,
      reasons jsonb not null,
      slice text not null,
      first_seen timestamptz not null,
      last_seen timestamptz not null,
      attempts integer not null default 1,
      resolved_at timestamptz,
      primary key (source, resource, key)
    )`.execute(db);
}
