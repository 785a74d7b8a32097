import { type Kysely, sql } from 'kysely';

/**
 * Whether two values of a row say the same: a column tells the number, or the moment, and not how it was written. What looks like a moment need not be
 * one: '2026-01-15 RE-2026' names no time zone.
 */
export async function createIsSame(db: Kysely<unknown>): Promise<void> {
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
    exception when data_exception then return false;
    end $$`.execute(db);
}
