import { type Kysely, sql } from 'kysely';

// What the service keeps besides reading: hints from webhooks, where those arrive, and the troubles reported to people.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table sluice.hints (
      source text not null,
      resource text not null,
      slice text not null,
      since timestamptz not null,
      primary key (source, resource, slice)
    )`.execute(db);

  await sql`
    create table sluice.receivers (
      source text primary key,
      secret text not null unique,
      made_at timestamptz not null
    )`.execute(db);

  await sql`
    create table sluice.webhooks (
      source text not null,
      url text not null,
      events text[] not null,
      registered_at timestamptz not null,
      primary key (source, url)
    )`.execute(db);

  await sql`
    create table sluice.incidents (
      id bigint generated always as identity primary key,
      source text not null,
      -- Null: the source as a whole.
      resource text,
      kind text not null check (kind in ('failed', 'fuse', 'unauthorized', 'unavailable', 'outdated')),
      message text not null,
      next text,
      opened_at timestamptz not null,
      ended_at timestamptz,
      told_at timestamptz,
      told_end_at timestamptz,
      attempts integer not null default 0,
      retry_at timestamptz
    )`.execute(db);
  // A trouble is one incident, however many processes see it.
  await sql`create unique index incidents_open on sluice.incidents (source, kind, coalesce(resource, '')) where ended_at is null`.execute(
    db,
  );

  // The kind of error that a run failed with.
  await sql`alter table sluice.runs add column failure text`.execute(db);
  await sql`create index runs_ended on sluice.runs (source, resource, ended_at)`.execute(db);
}
