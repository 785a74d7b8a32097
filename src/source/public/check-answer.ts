import type { z } from 'zod';
import { SluiceError } from '../../errors.ts';

/** A row or report as its schema gives it. Throws the kind `failed` where it does not fit, with the reason by field. */
export function checkAnswer<S extends z.ZodType>(schema: S, came: unknown, place: string): z.output<S> {
  const { success, data, error } = schema.safeParse(came);
  if (success) return data;
  const fields: Record<string, string> = {};
  for (const { path, message } of error.issues) fields[path.join('.') || 'row'] ??= message;
  const listed = Object.entries(fields).map(([field, problem]) => `${field}: ${problem}`);
  throw new SluiceError('failed', `${place} is not as the API's document says (${listed.join('; ')}).`, {
    fields,
    next: 'Correct it in the source, or ask for other rows.',
  });
}

/** Every row of a page; a wrong one is named by its place and, where it has one, its id. */
export function checkRows<S extends z.ZodType>(schema: S, rows: readonly unknown[], path: string): z.output<S>[] {
  return rows.map((row, index) => checkAnswer(schema, row, `${path}, row ${index + 1}${idOf(row)}`));
}

function idOf(row: unknown): string {
  const id = (row as { id?: unknown } | null)?.id;
  return typeof id === 'number' || typeof id === 'string' ? ` (id ${String(id).slice(0, 40)})` : '';
}
