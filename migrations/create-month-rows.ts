import { type Kysely, sql } from 'kysely';

/**
 * The rows of a month as they are, and those that were closed with it. Fields of `_extra` stand beside the columns, so that one that becomes a column
 * is no change; a value that its column cannot hold counts as it stays there (`plain_row`). Times are written in UTC, whoever asks.
 */
export async function createMonthRows(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function sluice.month_rows(place text, list text, date_field text, children jsonb, month text, sealed bigint, since timestamptz)
    returns table (key text, data jsonb, synced_at timestamptz) language plpgsql stable set timezone = 'UTC' as $$
    declare
      at regclass := to_regclass(format('%I.%I', place, list));
      first date := (month || '-01')::date;
      id record;
      lines text;
    begin
      if at is null then return; end if;
      select a.attname as name, format_type(a.atttypid, a.atttypmod) as type into strict id
        from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0] where i.indrelid = at and i.indisprimary;
      select string_agg(format(
          ' || jsonb_build_object(%1$L, (select coalesce(jsonb_agg((to_jsonb(c) - %2$L::text - ''_extra'') || coalesce(c._extra, ''{}'') order by c.line), ''[]'')
            from %3$I.%4$I c where c.%2$I = t.%5$I))', each->>'field', each->>'parent', place, each->>'table', id.name), '')
        into lines from jsonb_array_elements(children) each;
      return query execute format(
        'select t.%1$I::text, case when $3 is null or t._synced_at > $3
           then sluice.plain_row(to_jsonb(t))%2$s end, t._synced_at
         from %3$s t where t.%1$I in (select m.%1$I from %3$s m where m.%4$I >= $1 and m.%4$I < $1 + interval ''1 month''
           union select r.key::%5$s from sluice.sealed_rows r where r.seal_id = $2 and r.resource = %6$L)',
        id.name, coalesce(lines, ''), at, date_field, id.type, list) using first, sealed, since;
    end $$`.execute(db);
}
