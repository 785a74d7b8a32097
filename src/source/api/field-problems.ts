import type { z } from 'zod';

/** The problems by field, worded to follow the field's name; those of the input as a whole are under `body`. */
export function fieldProblems(error: z.ZodError): Record<string, string> {
  const problems: Record<string, string> = {};
  for (const issue of error.issues) {
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) problems[[...issue.path, key].join('.')] ??= "is not a field of the API's document";
    } else {
      const notAnObject = issue.code === 'invalid_type' && issue.expected === 'object';
      problems[issue.path.join('.') || 'body'] ??= notAnObject ? 'must be an object' : issue.message;
    }
  }
  return problems;
}
