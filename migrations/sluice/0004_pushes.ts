import { type Kysely, sql } from 'kysely';

// The lines sent to sources for creation, so that no line is ever sent twice.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table sluice.pushes (
      id bigint generated always as identity primary key,
      source text not null,
      resource text not null,
      file text not null,
      lines integer not null,
      state text not null default 'running' check (state in ('running', 'done', 'failed', 'stopped')),
      reason text,
      requests integer not null default 0,
      started_at timestamptz not null,
      ended_at timestamptz
    )`.execute(db);

  await sql`
    create table sluice.push_items (
      id bigint generated always as identity primary key,
      source text not null,
      resource text not null,
      hash text not null,
      ordinal integer not null,
      push_id bigint not null,
      line integer not null,
      body jsonb not null,
      state text not null default 'planned' check (state in ('planned', 'sent', 'created', 'refused', 'unknown')),
      message text,
      sent_at timestamptz,
      answered_at timestamptz,
      -- From then on the source is taken to have carried out all it ever will of what was sent.
      quiet_at timestamptz,
      -- Rows with a greater id, or without one and stored later, are new since it was sent.
      last_id bigint,
      last_at timestamptz,
      source_id text,
      row_key text,
      found_at timestamptz,
      unique (source, resource, hash, ordinal)
    )`.execute(db);
  await sql`create index push_items_push on sluice.push_items (push_id)`.execute(db);
}
