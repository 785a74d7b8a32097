import type { z } from 'zod';
import { SluiceError } from '../../errors.ts';
import { fieldProblems } from '../api/field-problems.ts';

/** Parses a caller's input into the form in which it is sent. Throws the kind `usage`, with the problems by field, before any request. */
export function checkInput<S extends z.ZodType>(schema: S, input: unknown, what: string): z.output<S> {
  const { success, data, error } = schema.safeParse(input);
  if (success) return data;
  const fields = fieldProblems(error);
  const listed = Object.entries(fields).map(([field, problem]) => `${field} ${problem}`);
  throw new SluiceError('usage', `${what}: ${listed.join('; ')}.`, { fields, next: 'Nothing was sent.' });
}
