import { type Kysely, sql } from 'kysely';

const LOG = {
  number: 'Number of the change: without gaps, in the order of commits.',
  resource: 'The list, such as invoices.',
  key: 'The key of the row, as text; null if it was erased.',
  kind: 'inserted, updated, deleted, or revived: a row that had been deleted came back.',
  earliest: 'It happened at the source after this moment; null if that is not known.',
  seen_at: 'It happened before this moment, when it was stored.',
  run_id: 'The run that found it: sluice.runs.',
} as const;
const CHANGES = {
  ...LOG,
  before: 'The row as it was, with its child rows; of an updated one, what differs.',
  after: 'The row as it was after the change; of an updated one, what differs.',
} as const;

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table if not exists change_log (
    number bigint primary key,
    resource text not null,
    key text,
    kind text not null check (kind in ('inserted', 'updated', 'deleted', 'revived')),
    earliest timestamptz,
    seen_at timestamptz not null,
    run_id bigint)`.execute(db);
  await sql`alter table row_history add column if not exists number bigint`.execute(db);
  const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(db);
  // What followed a change is the row as the next change found it, or as it is stored now.
  await sql`create or replace view changes as
    select l.number, l.resource, l.key, l.kind,
      case when l.kind = 'updated' then d.before else v.row end as before, case when l.kind = 'updated' then d.after else a.row end as after,
      l.earliest, l.seen_at, l.run_id
    from change_log l
    left join lateral (select sluice.plain_row(h.row) as row from row_history h
      where l.kind in ('updated', 'deleted') and h.resource = l.resource and h.key = l.key and h.number = l.number limit 1) v on true
    left join lateral (select sluice.plain_row(coalesce(
        (select h.row from row_history h where h.resource = l.resource and h.key = l.key and h.number > l.number order by h.number limit 1),
        sluice.row_now(${sql.lit(rows[0]?.schema)}, l.resource, l.key))) as row
      where l.kind <> 'deleted') a on true
    left join lateral (
      select jsonb_object_agg(f.name, v.row->f.name) as before, jsonb_object_agg(f.name, a.row->f.name) as after
      from (select jsonb_object_keys(v.row) union select jsonb_object_keys(a.row)) f(name)
      where l.kind = 'updated' and not sluice.is_same(v.row->f.name, a.row->f.name)) d on true`.execute(db);
  const comments = {
    'table change_log':
      'One row for each change of a row since its list was first read in full; the view changes shows what changed.',
    ...Object.fromEntries(Object.entries(LOG).map(([name, text]) => [`column change_log.${name}`, text])),
    'view changes': 'Every change of a row in the last 30 days, with what it was before and after: docs/changes.md',
    ...Object.fromEntries(Object.entries(CHANGES).map(([name, text]) => [`column changes.${name}`, text])),
    'column row_history.number': 'The change that ended it: change_log; null before those were numbered.',
  };
  for (const [what, text] of Object.entries(comments))
    await sql`comment on ${sql.raw(what)} is ${sql.lit(text)}`.execute(db);
}
