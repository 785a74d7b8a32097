import { isKind, SluiceError } from '../../errors.ts';
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
