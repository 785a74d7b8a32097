import type { z } from 'zod';
import { SluiceError } from '../../errors.ts';
import { bodyProblems } from './bodies.ts';

/** What a caller gave, in the form in which it is sent. Throws the kind `usage`, with what is wrong by field, before a request is spent. */
export function checkInput<S extends z.ZodType>(schema: S, given: unknown, what: string): z.output<S> {
  const { success, data, error } = schema.safeParse(given);
  if (success) return data;
  const fields = bodyProblems(error);
  const listed = Object.entries(fields).map(([field, problem]) => `${field} ${problem}`);
  throw new SluiceError('usage', `${what}: ${listed.join('; ')}.`, { fields, next: 'Nothing was sent.' });
}
