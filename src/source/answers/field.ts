import { z } from 'zod';
import { BadValue } from './values.ts';

type Read = (value: unknown) => string | null;

const readers = new WeakMap<object, Read>();

/** A field of a record in its normal form. An absent field stays absent; a value that `read` rejects becomes an issue of the field. */
export function field(read: Read, description?: string) {
  const plain = z
    .unknown()
    .transform((value, context) => (value === undefined ? undefined : checked(value, context, read)))
    .optional();
  // `describe` returns another schema.
  const schema = description === undefined ? plain : plain.describe(description);
  readers.set(schema, read);
  return schema;
}

/** How a value of the field is read; undefined for a schema that is none of `field`. */
export const readerOf = (schema: object): Read | undefined => readers.get(schema);

/** Applies `read` to a value and turns a `BadValue` into an issue. */
export function checked<T>(value: unknown, context: z.RefinementCtx, read: (value: unknown) => T): T {
  try {
    return read(value);
  } catch (error) {
    if (!(error instanceof BadValue)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
    return z.NEVER;
  }
}
