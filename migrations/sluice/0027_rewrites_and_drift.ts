import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table if not exists sluice.rewrites (
    id bigint generated always as identity primary key,
    source text not null,
    resource text not null,
    field text not null,
    run_id bigint,
    run_ids text[] not null,
    since timestamptz not null,
    at timestamptz not null,
    rows integer not null,
    stored integer not null,
    looks text,
    examples jsonb not null,
    ended_at timestamptz,
    ended_by text check (ended_by in ('accepted', 'undone', 'reverted')))`.execute(db);
  await sql`create index if not exists rewrites_by_list on sluice.rewrites (source, resource, at)`.execute(db);
  await sql`alter table sluice.incidents drop constraint incidents_kind_check, add constraint incidents_kind_check
    check (kind in ('failed', 'fuse', 'rewrite', 'unauthorized', 'unavailable', 'outdated', 'drift'))`.execute(db);
  const comments = {
    'table sluice.rewrites':
      'Fields of which so many values were replaced within 24 hours that somebody was told; see docs/history.md.',
    'column sluice.rewrites.id': 'Number.',
    'column sluice.rewrites.source': 'Source.',
    'column sluice.rewrites.resource': 'List.',
    'column sluice.rewrites.field': 'Column, or field of the child rows.',
    'column sluice.rewrites.run_id': 'Run that told of it, as in sluice.runs.',
    'column sluice.rewrites.run_ids': 'Runs that replaced the values; sluice undo restores what they replaced.',
    'column sluice.rewrites.since': 'Replacements since then are counted.',
    'column sluice.rewrites.at': 'When it was told.',
    'column sluice.rewrites.rows': 'Number of rows whose value was replaced by another.',
    'column sluice.rewrites.stored': 'Number of rows that hold a value there.',
    'column sluice.rewrites.looks': 'What the new values have in common, if anything.',
    'column sluice.rewrites.examples': 'Up to three of them: key, before and after.',
    'column sluice.rewrites.ended_at': 'When it was settled; null while it is open.',
    'column sluice.rewrites.ended_by':
      'accepted (by somebody), undone (sluice undo) or reverted (the source shows what it showed before).',
    'column sluice.incidents.kind':
      'failed, fuse (the loss limit), rewrite (many values were replaced), unauthorized (the key), unavailable (the source), outdated or drift (a notice of fields that appeared or vanished).',
    'column sluice.runs.failure':
      'Kind of failure, such as unavailable, fuse (the loss limit), rewrite (many values were replaced) or abandoned.',
  };
  for (const [what, text] of Object.entries(comments))
    await sql`comment on ${sql.raw(what)} is ${sql.lit(text)}`.execute(db);
}
