import { type Kysely, sql } from 'kysely';
import { createIsSame } from '../create-is-same.ts';

/**
 * Fields of `_extra` stand beside the columns, in child rows, too, so that one that becomes a column, or a list that becomes a table, is no change. A
 * value that its column cannot hold stays in `_extra`.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function sluice.plain_row(stored jsonb) returns jsonb language sql immutable as $$
      with own(fields) as (
        select coalesce(jsonb_object_agg(key, case jsonb_typeof(value) when 'array' then (
            select coalesce(jsonb_agg(
                case when jsonb_typeof(item) = 'object' and item ? '_extra' then sluice.plain_row(item - 'line') else item end order by place), '[]')
            from jsonb_array_elements(value) with ordinality as items(item, place)) else value end), '{}')
        from jsonb_each(stored - '{_synced_at,_read_at,_hash,_extra}'::text[]))
      select fields || (
        select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(coalesce(nullif(stored->'_extra', 'null'), '{}'))
        where coalesce(fields->key, 'null') = 'null')
      from own where stored is not null
    $$`.execute(db);

  await createIsSame(db);
}
