import { type Kysely, sql } from 'kysely';
import { createMonthRows } from '../create-month-rows.ts';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table if not exists sluice.seals (
    id bigint generated always as identity primary key,
    source text not null,
    month text not null,
    sealed_at timestamptz not null,
    digest text not null,
    replaced_at timestamptz)`.execute(db);
  await sql`create unique index if not exists seals_in_force on sluice.seals (source, month) where replaced_at is null`.execute(
    db,
  );
  await sql`create table if not exists sluice.sealed_lists (
    seal_id bigint not null references sluice.seals on delete cascade,
    resource text not null,
    schema text not null,
    date_field text not null,
    children jsonb not null,
    rows integer not null,
    sums jsonb not null,
    digest text not null,
    primary key (seal_id, resource))`.execute(db);
  await sql`create table if not exists sluice.sealed_rows (
    seal_id bigint not null,
    resource text not null,
    key text not null,
    row jsonb,
    hash text not null,
    primary key (seal_id, resource, key),
    foreign key (seal_id, resource) references sluice.sealed_lists on delete cascade)`.execute(db);

  await createMonthRows(db);

  // A field that is absent is as good as null, and a number as its text: columns are added, and take values over from _extra.
  await sql`
    create or replace function sluice.is_same(a jsonb, b jsonb) returns boolean language plpgsql immutable as $$
    begin
      if coalesce(a, 'null') = coalesce(b, 'null') then return true; end if;
      if jsonb_typeof(a) = 'object' and jsonb_typeof(b) = 'object' then
        return not exists (select from (select jsonb_object_keys(a) union select jsonb_object_keys(b)) f(name)
          where not sluice.is_same(a->f.name, b->f.name));
      end if;
      if jsonb_typeof(a) = 'array' and jsonb_typeof(b) = 'array' then
        return jsonb_array_length(a) = jsonb_array_length(b)
          and not exists (select from generate_series(0, jsonb_array_length(a) - 1) i where not sluice.is_same(a->i, b->i));
      end if;
      return coalesce((a #>> '{}') = (b #>> '{}'), false);
    end $$`.execute(db);

  // Where it is not exact, rows that were not written since are taken to be as they were.
  await sql`
    create or replace function sluice.restated_rows(exact boolean default true)
    returns table (source text, schema text, month text, resource text, key text, kind text, before jsonb, after jsonb, sealed_at timestamptz, seen_at timestamptz)
    language sql stable as $$
      select s.source, l.schema, s.month, l.resource, c.key,
        case when c.old is null then 'added' when c.synced_at is null then 'deleted' else 'changed' end,
        case when c.synced_at is null then c.old else d.before end,
        case when c.old is null then c.new else d.after end,
        s.sealed_at, c.synced_at
      from sluice.seals s join sluice.sealed_lists l on l.seal_id = s.id
      cross join lateral (
        select coalesce(r.key, n.key) as key, r.row as old, n.data as new, n.synced_at, r.key is not null and r.row is null as erased
        from (select * from sluice.sealed_rows r where r.seal_id = s.id and r.resource = l.resource) r
        full join sluice.month_rows(l.schema, l.resource, l.date_field, l.children, s.month, s.id, case when not exact then s.sealed_at end) n
          on n.key = r.key) c
      cross join lateral (
        select jsonb_object_agg(f.name, c.old->f.name) as before, jsonb_object_agg(f.name, c.new->f.name) as after
        from (select jsonb_object_keys(c.old) union select jsonb_object_keys(c.new)) f(name)
        where c.old is not null and c.new is not null and not sluice.is_same(c.old->f.name, c.new->f.name)) d
      where s.replaced_at is null and not c.erased and (c.old is null or c.synced_at is null or d.after is not null)
    $$`.execute(db);
  await sql`alter table sluice.incidents drop constraint incidents_kind_check, add constraint incidents_kind_check
    check (kind in ('failed', 'fuse', 'rewrite', 'restated', 'unauthorized', 'unavailable', 'outdated', 'drift'))`.execute(
    db,
  );

  const comments = {
    'table sluice.seals': 'Months that were closed; see docs/history.md.',
    'column sluice.seals.id': 'Number.',
    'column sluice.seals.source': 'Source.',
    'column sluice.seals.month': 'Month, as YYYY-MM.',
    'column sluice.seals.sealed_at': 'When it was closed.',
    'column sluice.seals.digest': 'SHA-256 of the first line of its exported file.',
    'column sluice.seals.replaced_at': 'When it was closed again; null for the one in force.',
    'table sluice.sealed_lists': 'What a closed month holds of each list.',
    'column sluice.sealed_lists.seal_id': 'Closed month, as in sluice.seals.',
    'column sluice.sealed_lists.resource': 'List.',
    'column sluice.sealed_lists.schema': 'Schema of its table.',
    'column sluice.sealed_lists.date_field': 'Column whose date puts a row into the month.',
    'column sluice.sealed_lists.children': 'Tables of its child rows, by their field.',
    'column sluice.sealed_lists.rows': 'Number of rows.',
    'column sluice.sealed_lists.sums': 'Sum of each numeric column.',
    'column sluice.sealed_lists.digest': 'SHA-256 of the hashes of its rows, in the order of keys.',
    'table sluice.sealed_rows': 'Rows of closed months, as they were then.',
    'column sluice.sealed_rows.seal_id': 'Closed month, as in sluice.seals.',
    'column sluice.sealed_rows.resource': 'List.',
    'column sluice.sealed_rows.key': 'Primary key of the row.',
    'column sluice.sealed_rows.row': 'The row with its child rows; null if it was erased.',
    'column sluice.sealed_rows.hash': 'SHA-256 of its line in an exported file.',
    'column sluice.incidents.kind':
      'failed, fuse (the loss limit), rewrite (many values were replaced), restated (rows of a closed month changed), unauthorized (the key), unavailable (the source), outdated or drift (a notice of fields that appeared or vanished).',
    'function sluice.month_rows(text, text, text, jsonb, text, bigint, timestamptz)':
      'Rows of a month, and those that a closed month holds, as they are now; without their data unless they were written since.',
    'function sluice.is_same(jsonb, jsonb)': 'Whether two values of a row say the same.',
    'function sluice.restated_rows(boolean)': 'Rows of closed months that are not as they were.',
  };
  for (const [what, text] of Object.entries(comments))
    await sql`comment on ${sql.raw(what)} is ${sql.lit(text)}`.execute(db);
}
