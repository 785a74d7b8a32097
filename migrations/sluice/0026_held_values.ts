import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table if not exists sluice.held (
    source text not null,
    resource text not null,
    field text not null,
    key text not null,
    since timestamptz not null,
    primary key (source, resource, field, key))`.execute(db);
  await sql`create index if not exists held_by_row on sluice.held (source, resource, key)`.execute(db);
  await sql`create table if not exists sluice.losses (
    source text not null,
    resource text not null,
    field text not null,
    rows bigint not null,
    run_id bigint,
    at timestamptz not null)`.execute(db);
  await sql`create index if not exists losses_by_field on sluice.losses (source, resource, field, at)`.execute(db);
  await sql`alter table sluice.orders add column if not exists accept_losses text[] not null default '{}'`.execute(db);
  const comments = {
    'table sluice.held':
      'Stored values that the source shows empty and that are kept, since more would be lost than the loss limit allows.',
    'column sluice.held.source': 'Source.',
    'column sluice.held.resource': 'List.',
    'column sluice.held.field': 'Column, or field of the child rows.',
    'column sluice.held.key': 'Key of the row.',
    'column sluice.held.since': 'When the source first showed it empty.',
    'table sluice.losses':
      'Values and child rows that the source emptied: how many of each field, at each commit, for 24 hours.',
    'column sluice.losses.source': 'Source.',
    'column sluice.losses.resource': 'List.',
    'column sluice.losses.field': 'Column, or field of the child rows.',
    'column sluice.losses.rows': 'Number of rows that lost it.',
    'column sluice.losses.run_id': 'Run that read them, as in sluice.runs.',
    'column sluice.losses.at': 'When that was committed.',
    'column sluice.orders.accept_deletes': 'Number of rows for which the loss limit is overridden.',
    'column sluice.runs.failure': 'Kind of failure, such as unavailable, fuse (the loss limit) or abandoned.',
    'column sluice.incidents.kind':
      'failed, fuse (the loss limit), unauthorized (the key), unavailable (the source) or outdated.',
    'column sluice.orders.accept_losses':
      'Columns and child fields whose losses are accepted, whatever the loss limit allows.',
  };
  for (const [what, text] of Object.entries(comments))
    await sql`comment on ${sql.raw(what)} is ${sql.lit(text)}`.execute(db);
}
