import type { z } from 'zod';
import { isKind, SluiceError } from '../../errors.ts';
import { fieldProblems } from '../api/request-bodies.ts';
import type { Client } from '../client.ts';
import type { RequestContext } from '../requests/request.ts';

export interface CallOptions {
  /** Stops this call, also while it waits for the limit. */
  signal?: AbortSignal;
}

/** A client of the source, and a way to run work under the signals of one call. */
export interface Session {
  readonly source: Client;
  readonly within: <T>(
    lane: RequestContext['lane'],
    options: CallOptions | undefined,
    work: (context: RequestContext) => Promise<T>,
  ) => Promise<T>;
}

/** Turns 405 into the kind `absent`, as 404 is: the source does not offer the path. */
export async function offered<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isKind(error, 'refused') && error.status === 405 ? absent(path, error) : error;
  }
}

export function absent(path: string, cause?: unknown): SluiceError {
  return new SluiceError('absent', `This source does not offer ${path}.`, {
    status: cause === undefined ? 404 : 405,
    cause,
    next: 'The rest of the API is not affected.',
  });
}

/** Parses a caller's input into the form in which it is sent. Throws the kind `usage`, with the problems by field, before any request. */
export function checkInput<S extends z.ZodType>(schema: S, input: unknown, what: string): z.output<S> {
  const { success, data, error } = schema.safeParse(input);
  if (success) return data;
  const fields = fieldProblems(error);
  const listed = Object.entries(fields).map(([field, problem]) => `${field} ${problem}`);
  throw new SluiceError('usage', `${what}: ${listed.join('; ')}.`, { fields, next: 'Nothing was sent.' });
}

/** Parses a row or report by its schema. Throws the kind `failed`, with the reason by field, if it does not match. */
export function checkAnswer<S extends z.ZodType>(schema: S, value: unknown, place: string): z.output<S> {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const fields: Record<string, string> = {};
  for (const { path, message } of error.issues) fields[path.join('.') || 'row'] ??= message;
  const listed = Object.entries(fields).map(([field, problem]) => `${field}: ${problem}`);
  throw new SluiceError('failed', `${place} does not match the API's document (${listed.join('; ')}).`, {
    fields,
    next: 'Correct it in the source, or request other rows.',
  });
}

/** Parses every row of a page. The error names an invalid row by its position and, if it has one, its id. */
export function checkRows<S extends z.ZodType>(schema: S, rows: readonly unknown[], path: string): z.output<S>[] {
  return rows.map((row, index) => checkAnswer(schema, row, `${path}, row ${index + 1}${idOf(row)}`));
}

function idOf(row: unknown): string {
  const id = (row as { id?: unknown } | null)?.id;
  return typeof id === 'number' || typeof id === 'string' ? ` (id ${String(id).slice(0, 40)})` : '';
}
