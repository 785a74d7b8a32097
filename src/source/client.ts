import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Budget, Lane } from './budget.ts';

export interface ClientOptions {
  /** The installation's base address, e.g. `https://books.example.com`. Plain http only to loopback. */
  url: string;
  apiKey: string;
  auth: 'bearer' | 'query';
  budget: Budget;
  /** Requests in flight at once. */
  concurrency: number;
  /** For one attempt, from sending to the last byte. */
  timeoutMs: number;
  /** Largest accepted body after decompression. Default 64 MiB. */
  maxBodyBytes?: number;
  /** The source's rate window, the longest wait a header can ask for. Default one hour. */
  windowMs?: number;
  /** Reject with the kind `quota` instead of waiting more than 5 s for the limit. Default false. */
  noWait?: boolean;
  /** Told whenever a lane waits for the limit, e.g. to show until when. */
  onWait?: (lane: Lane, waitMs: number) => void;
  clock: Clock;
  log?: Log;
  /** For the jitter of retries. Default `Math.random`. */
  random?: () => number;
}

export interface RequestContext {
  lane: Lane;
  /** Why it is asked, for the ledger, e.g. `customers ids 1..100`. */
  purpose: string;
  runId?: string;
  signal?: AbortSignal;
  /** Failed attempts before giving up; 429 answers do not count. Default 6. */
  attempts?: number;
}

export interface Meta {
  currentPage?: number;
  totalPages?: number;
  totalRecords?: number;
}

/** The source has no such page, record or resource (404). */
export interface Gone {
  kind: 'gone';
  grantedAt: string;
  requests: number;
}

export type ListAnswer =
  | { kind: 'rows'; rows: unknown[]; meta?: Meta; grantedAt: string; requests: number; bytes: number }
  | Gone;

export type OneAnswer = { kind: 'one'; record: Record<string, unknown>; grantedAt: string; requests: number } | Gone;

export type Answer =
  | { kind: 'success'; body: Record<string, unknown>; grantedAt: string; requests: number; bytes: number }
  | Gone;

export interface SourceRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** As in the API's document, e.g. `/api/v2/customers`. */
  path: string;
  query?: Readonly<Record<string, string>>;
  body?: unknown;
  /** What `data` must be for the answer to count as one. Default `any`. */
  expect?: 'list' | 'one' | 'any';
}

export interface Client {
  /** One page of a list. */
  list(
    path: string,
    query: Readonly<Record<string, string>>,
    ask: { page?: number; limit?: number },
    context: RequestContext,
  ): Promise<ListAnswer>;
  /** One record, or one report. */
  get(path: string, context: RequestContext, query?: Readonly<Record<string, string>>): Promise<OneAnswer>;
  request(request: SourceRequest, context: RequestContext): Promise<Answer>;
  /** Stops what is waiting and in flight, settles it, and closes the connections. */
  close(): Promise<void>;
}

export function openClient(_options: ClientOptions): Client {
  throw new Error('not written yet');
}
