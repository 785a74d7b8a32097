import { type RawBuilder, sql } from 'kysely';

/** A JSON object with its numbers as exact texts, its fields in their order, and without one of them; null where there is none. SQL: JSON. */
export const exactNumbers = (json: string, without = ''): RawBuilder<unknown> =>
  sql`(select json_object_agg(e.key, case when json_typeof(e.value) = 'number' then to_json(e.value #>> '{}') else e.value end)
      from json_each(${sql.raw(json)}) e where e.key <> ${without})`;
