import { z } from 'zod';
import { BadValue } from './values.ts';

/** A field of a record in its normal form. One that is left out stays out; what `read` refuses is an issue of that field. */
export function field(read: (value: unknown) => string | null) {
  return z
    .unknown()
    .transform((value, context) => (value === undefined ? undefined : checked(value, context, read)))
    .optional();
}

/** What `read` makes of a value; a `BadValue` becomes an issue. */
export function checked<T>(value: unknown, context: z.RefinementCtx, read: (value: unknown) => T): T {
  try {
    return read(value);
  } catch (error) {
    if (!(error instanceof BadValue)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
    return z.NEVER;
  }
}
