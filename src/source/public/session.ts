import { isKind, SluiceError } from '../../errors.ts';
import type { Client, RequestContext } from '../client.ts';

export interface CallOptions {
  /** Stops this call, also while it waits for the limit. */
  signal?: AbortSignal;
}

/** A client of the source, and a way to ask it within the life of a call. */
export interface Session {
  readonly source: Client;
  readonly within: <T>(
    lane: RequestContext['lane'],
    options: CallOptions | undefined,
    work: (context: RequestContext) => Promise<T>,
  ) => Promise<T>;
}

/** 405 as much as 404 says that the source has none of this. */
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
    next: 'The rest of the API is not touched by this.',
  });
}

/** What was given of a query, as text. */
export function present(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}
