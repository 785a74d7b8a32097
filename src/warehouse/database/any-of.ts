import { type RawBuilder, sql } from 'kysely';

/** For `column = any($1)`. The builder's `in` makes another statement for each number of values, and an invalid one for none. */
export const anyOf = <T>(values: readonly T[]): RawBuilder<T> => sql`any(${values})`;
