import type { Budget, Lane } from '../budget/budget.ts';
import { createLimiter } from '../budget/limiter.ts';
import { learnServerWindow, type ServerWindow } from '../budget/server-window.ts';
import { type Clock, HOUR } from '../clock.ts';
import { codeOf, isKind, SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Verdict } from './answers/classify.ts';
import { createAddress } from './http/address.ts';
import { type KnownBody, openAgent } from './http/exchange.ts';
import { COMMAND_WORDING, type Wording } from './http/wording.ts';
import { type Meta, readMeta } from './paging/page-count.ts';
import { createAttempt } from './requests/attempt.ts';
import { createRequest, type Gone, type RequestContext, type SendRequest } from './requests/request.ts';

export type { Meta } from './paging/page-count.ts';

export interface ClientOptions {
  /** The installation's base address, e.g. `https://books.example.com`. Plain http only to loopback. */
  url: string;
  apiKey: string;
  auth: 'bearer' | 'query';
  budget: Budget;
  /** Requests in flight at once, at most: fewer while the source refuses so many. */
  concurrency: number;
  /** The number at which an earlier process ended. Default: `concurrency`. */
  knownConcurrency?: number | undefined;
  /** Called when the number changes, with the new one. */
  onConcurrency?: (allowed: number) => void;
  /** Called when the server is seen to count its limit over a shorter window than ours, and when that is contradicted. */
  onServerWindow?: (found: ServerWindow | null) => void;
  /** For one attempt, from sending to the last byte. */
  timeoutMs: number;
  /** The largest accepted body, both compressed and decompressed. Default 64 MiB: 1000 rows of 64 KB each. */
  maxBodyBytes?: number;
  /** The source's rate window, the longest wait a header can ask for. Default one hour. */
  windowMs?: number;
  /** Reject with the kind `quota` instead of waiting more than 5 s for a limit that is used up. Default false. */
  noWait?: boolean;
  /** Called whenever a lane waits for the limit, e.g. to show until when. */
  onWait?: (lane: Lane, waitMs: number) => void;
  /** Called before a request is repeated, with what failed and the wait before the next attempt. */
  onRetry?: (failure: string, waitMs: number) => void;
  clock: Clock;
  log?: Log;
  /** For the jitter of retries. Default `Math.random`. */
  random?: () => number;
  /** How messages name the settings. Default: the environment variables of the commands. */
  wording?: Wording;
}

export type ListAnswer =
  | {
      kind: 'rows';
      rows: unknown[];
      meta?: Meta;
      /** How many rows came with bytes that are invalid in the answer's encoding; U+FFFD replaces them. */
      replaced?: number;
      /** The rows are not in the order of the answer. */
      unordered?: true;
      /** Of the body without its `meta`, where `known` asked for it. */
      digest?: string;
      /** The answer is the one that came before: `rows` is empty, and this reads them. */
      reread?: () => unknown[];
      grantedAt: string;
      requests: number;
      bytes: number;
    }
  | Gone;

export type OneAnswer =
  | {
      kind: 'one';
      record: Record<string, unknown>;
      /** 1 if it came with such bytes. */
      replaced?: number;
      grantedAt: string;
      requests: number;
    }
  | Gone;

export interface Client {
  /** Requests one page of a list. `known`: to tell whether the answer is one that came before. */
  list(
    path: string,
    query: Readonly<Record<string, string>>,
    paging: { page?: number | undefined; limit?: number | undefined },
    context: RequestContext,
    known?: KnownBody,
  ): Promise<ListAnswer>;
  /** Requests one record, or one report. */
  get(path: string, context: RequestContext, query?: Readonly<Record<string, string>>): Promise<OneAnswer>;
  request: SendRequest;
  /** Stops all requests that wait or are in flight, settles them, and closes the connections. */
  close(): Promise<void>;
  /** Removes the key from a text of an answer, since a source may repeat it. Call this before the text is shortened. */
  hide(text: string): string;
}

/**
 * Opens a client of one installation. Every attempt takes its own grant from the budget and settles it exactly once, whatever its outcome.
 * Errors: `unauthorized`, `refused` and `unavailable` as the source answers, `stopped` when the signal aborts or the client is closed,
 * `quota` with `noWait`, `configuration` at once for an invalid address or key.
 *
 * @example
 * const client = openClient({ url, apiKey, auth: 'bearer', budget, concurrency: 4, timeoutMs: 30_000, clock: systemClock });
 * const answer = await client.list('/api/v2/customers', {}, { page: 1, limit: 1000 }, { lane: 'live', purpose: 'customers' });
 * if (answer.kind === 'rows') console.log(answer.rows.length, answer.meta?.totalRecords);
 * await client.close();
 */
export function openClient(options: ClientOptions): Client {
  const { clock, concurrency, knownConcurrency, log, timeoutMs, onWait, onRetry, onServerWindow } = options;
  const { random = Math.random, wording = COMMAND_WORDING, windowMs = HOUR } = options;
  const budget = learnServerWindow(options.budget, {
    clock,
    windowMs,
    ...(onServerWindow && { onWindow: onServerWindow }),
  });
  const address = createAddress(options);
  const agent = openAgent({ connections: concurrency, timeoutMs });
  const closing = new AbortController();
  const shared = { address, clock, random, closing: closing.signal, ...(log && { log }) };
  const limiter = createLimiter({
    budget,
    concurrency,
    knownConcurrency,
    clock,
    noWait: options.noWait ?? false,
    onConcurrency(allowed) {
      log?.info({ allowed, most: concurrency }, 'requests in flight at once');
      options.onConcurrency?.(allowed);
    },
    ...(onWait && { onWait }),
    onReleaseError: error => log?.warn({ err: error }, 'unused requests could not be released'),
  });
  const attempt = createAttempt({
    ...shared,
    agent,
    limiter,
    budget,
    timeoutMs,
    maxBodyBytes: options.maxBodyBytes ?? 64 * 2 ** 20,
    windowMs,
  });
  const request = createRequest({ ...shared, attempt, wording, ...(onRetry && { onRetry }) });
  return {
    ...reading(request),
    request,
    hide: address.hide,
    async close() {
      closing.abort(new SluiceError('stopped', 'The client was closed.'));
      await limiter.close();
      await budget.flush().catch((error: unknown) => log?.warn({ err: error }, 'answers could not be recorded'));
      await agent.destroy();
    },
  };
}

function reading(request: SendRequest): Pick<Client, 'list' | 'get'> {
  return {
    async list(path, query, { page, limit }, context, known) {
      const paging = {
        ...(page !== undefined && { page: String(page) }),
        ...(limit !== undefined && { limit: String(limit) }),
      };
      const asked = { method: 'GET', path, query: { ...query, ...paging }, expect: 'list', known } as const;
      const answer = await request(asked, context);
      if (answer.kind === 'gone') return answer;
      const { body, reread, ...spent } = answer;
      const meta = readMeta(body.meta);
      const shown = { ...spent, kind: 'rows', ...(meta && { meta }) } as const;
      if (reread === undefined) return { ...shown, rows: body.data as unknown[] };
      return { ...shown, rows: [], reread: () => rowsIn(reread()) };
    },
    async get(path, context, query = {}) {
      const answer = await request({ method: 'GET', path, query, expect: 'record' }, context);
      if (answer.kind === 'gone') return answer;
      const { grantedAt, requests, replaced } = answer;
      const record = answer.body.data as Record<string, unknown>;
      return { kind: 'one', record, ...(replaced !== undefined && { replaced }), grantedAt, requests };
    },
  };
}

/** The rows of a body that showed rows before. */
function rowsIn(verdict: Verdict): unknown[] {
  if (verdict.kind !== 'success') throw new Error(`an answer that came before as rows is read as "${verdict.kind}"`);
  return verdict.body.data as unknown[];
}

/** True when a request finally failed because of a time-out: asking for fewer rows may help. */
export function isTimeout(error: unknown): boolean {
  return isKind(error, 'unavailable') && codeOf(error.cause) === 'ETIMEDOUT';
}
