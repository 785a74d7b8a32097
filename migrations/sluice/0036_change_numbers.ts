import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table if not exists sluice.change_numbers (
    schema text primary key,
    last bigint not null,
    first bigint not null default 1)`.execute(db);
  await sql`alter table sluice.cursors add column if not exists logs_since timestamptz`.execute(db);
  await sql`alter table sluice.missing add column if not exists proven_before timestamptz`.execute(db);

  // The history view of a list shows its rows as they are now, too, with their child rows.
  await sql`
    create or replace function sluice.row_now(place text, list text, key text) returns jsonb language plpgsql stable as $$
    declare
      at regclass := to_regclass(format('%I.%I', place, list));
      id record;
      found jsonb;
    begin
      if at is null or to_regclass(format('%I.%I', place, list || '_history')) is null or key is null then return null; end if;
      select a.attname as name, format_type(a.atttypid, a.atttypmod) as type into strict id
        from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0] where i.indrelid = at and i.indisprimary;
      execute format('select to_jsonb(v) - ''{valid_from,valid_to,ended_by}''::text[] from %I.%I v where v.%I = $1::%s and v.valid_to is null',
        place, list || '_history', id.name, id.type) into found using key;
      return found;
    end $$`.execute(db);

  // Fields of _extra stand beside the columns, so that one that becomes a column is no change.
  await sql`
    create or replace function sluice.plain_row(stored jsonb) returns jsonb language sql immutable as $$
      select coalesce(nullif(stored->'_extra', 'null'), '{}') || (stored - '{_synced_at,_read_at,_hash,_extra}'::text[])
    $$`.execute(db);

  const comments = {
    'table sluice.change_numbers': 'Numbers of the changes of each schema: change_log there.',
    'column sluice.change_numbers.schema': 'Schema of the tables.',
    'column sluice.change_numbers.last': 'Number of the newest change.',
    'column sluice.change_numbers.first': 'Number from which on all changes are kept.',
    'column sluice.cursors.logs_since': 'Since when changes of the list are logged: all of it was read by then.',
    'column sluice.missing.proven_before': 'When a reading last showed the row; null where that is not known.',
    'function sluice.plain_row(jsonb)': 'A stored row as the source shows it.',
    'function sluice.row_now(text, text, text)': 'A row of a list as it is stored, with its child rows.',
  };
  for (const [what, text] of Object.entries(comments))
    await sql`comment on ${sql.raw(what)} is ${sql.lit(text)}`.execute(db);
}
