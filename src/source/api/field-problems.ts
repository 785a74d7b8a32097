import type { z } from 'zod';
import { didYouMean } from '../../nearest-name.ts';

/**
 * The problems by field, worded to follow the field's name; those of the input as a whole are under `body`. `known`: the fields of the
 * body, to suggest one for an unknown field.
 */
export function fieldProblems(error: z.ZodError, known: readonly string[] = []): Record<string, string> {
  const problems: Record<string, string> = {};
  for (const issue of error.issues) {
    if (issue.code === 'unrecognized_keys') {
      const names = issue.path.length === 0 ? known : [];
      for (const key of issue.keys)
        problems[[...issue.path, key].join('.')] ??= `is not a field of the API's document${didYouMean(key, names)}`;
    } else {
      const notAnObject = issue.code === 'invalid_type' && issue.expected === 'object';
      problems[issue.path.join('.') || 'body'] ??= notAnObject ? 'must be an object' : issue.message;
    }
  }
  return problems;
}
