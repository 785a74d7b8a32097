import { type RawBuilder, sql } from 'kysely';

/** For `column = any($1)`. The builder's `in` makes another statement for each number of values, and an invalid one for none. */
export const anyOf = <T>(values: readonly T[]): RawBuilder<T> => sql`any(${values})`;

/** One parameter that holds a whole column: `unnest` of it is twice as fast as `values`, and has no limit on their number. */
export function arrayOf(type: string, values: readonly (string | null)[]): RawBuilder<unknown> {
  return sql`cast(${arrayText(values)} as ${sql.raw(type)}[])`;
}

/** An array as Postgres reads it. The driver quotes each element with an expression, which takes longer. */
export function arrayText(values: readonly (string | null)[]): string {
  let text = '';
  for (const value of values) text += text === '' ? elementText(value) : `,${elementText(value)}`;
  return `{${text}}`;
}

function elementText(value: string | null): string {
  if (value === null) return 'NULL';
  if (!value.includes('"') && !value.includes('\\')) return `"${value}"`;
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
