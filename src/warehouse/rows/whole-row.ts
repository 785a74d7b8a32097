import { type RawBuilder, sql } from 'kysely';
import type { Table } from './tables.ts';

/** A stored row as `row_history` keeps it: all columns of `t` as JSON, with its child rows in a list by their field. */
export function wholeRow(table: Table): RawBuilder<unknown> {
  const children = table.children.map(
    child => sql`${child.field}::text, (select coalesce(jsonb_agg(to_jsonb(c) - ${child.parent}::text order by c.line), '[]')
      from ${sql.id(table.schema, child.name)} c where c.${sql.id(child.parent)} = t.${sql.id(table.key.name)})`,
  );
  return sql`(to_jsonb(t) - '_hash') || jsonb_build_object(${sql.join(children)})`;
}
