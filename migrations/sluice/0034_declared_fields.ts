import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table if not exists sluice.declared_fields (
    schema text not null,
    table_name text not null,
    field text not null,
    type text not null,
    child_table text,
    parent text,
    primary key (schema, table_name, field))`.execute(db);
  // Closed months: a field that becomes a column is no change. Its column tells the number, or the moment, and not how it was written.
  await sql`
    create or replace function sluice.is_same(a jsonb, b jsonb) returns boolean language plpgsql immutable as $$
    declare
      x text := a #>> '{}';
      y text := b #>> '{}';
      kinds text := jsonb_typeof(a) || ' ' || jsonb_typeof(b);
    begin
      if coalesce(a, 'null') = coalesce(b, 'null') then return true; end if;
      if kinds = 'object object' then
        return not exists (select from (select jsonb_object_keys(a) union select jsonb_object_keys(b)) f(name)
          where not sluice.is_same(a->f.name, b->f.name));
      end if;
      if kinds = 'array array' then
        return jsonb_array_length(a) = jsonb_array_length(b)
          and not exists (select from generate_series(0, jsonb_array_length(a) - 1) i where not sluice.is_same(a->i, b->i));
      end if;
      if x = y then return true; end if;
      if kinds in ('number string', 'string number') and x ~ '^-?\\d+(\\.\\d+)?$' and y ~ '^-?\\d+(\\.\\d+)?$' then
        return x::numeric = y::numeric;
      end if;
      if kinds = 'string string' and x ~ '^\\d{4}-\\d\\d-\\d\\d[T ].*([+-]\\d\\d:?\\d*|Z)$' and y ~ '^\\d{4}-\\d\\d-\\d\\d[T ].*([+-]\\d\\d:?\\d*|Z)$' then
        return x::timestamptz = y::timestamptz;
      end if;
      return false;
    exception when datetime_field_overflow or invalid_datetime_format then return false;
    end $$`.execute(db);
  const comments = {
    'table sluice.declared_fields':
      'Columns and child tables that files in lists/ declare, so that they can be put back into _extra.',
    'column sluice.declared_fields.schema': 'Schema of the table.',
    'column sluice.declared_fields.table_name': 'Table.',
    'column sluice.declared_fields.field': 'Field, and its column.',
    'column sluice.declared_fields.type': 'Type of the column; list for a table of child rows.',
    'column sluice.declared_fields.child_table': 'Table of the child rows.',
    'column sluice.declared_fields.parent': 'Its column that names the row they belong to.',
  };
  for (const [what, text] of Object.entries(comments))
    await sql`comment on ${sql.raw(what)} is ${sql.lit(text)}`.execute(db);
}
