import type { Expected } from '../answers/classify.ts';

/** A request that is ready to be sent any number of times. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly expect: Expected;
  /** Method, path and query, without the key: how messages name the request. */
  readonly label: string;
  /** With `auth: 'query'` it holds the key and is never shown. */
  readonly url: string;
  readonly body: string | undefined;
}
