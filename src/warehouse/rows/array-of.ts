import { type RawBuilder, sql } from 'kysely';

/** One parameter that holds a whole column: `unnest` of it is twice as fast as `values`, and has no limit on their number. */
export function arrayOf(type: string, values: readonly (string | null)[]): RawBuilder<unknown> {
  return sql`cast(${values} as ${sql.raw(type)}[])`;
}
