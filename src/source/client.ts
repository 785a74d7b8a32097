import { setMaxListeners } from 'node:events';
import type { Budget, Lane } from '../budget/budget.ts';
import { createLimiter } from '../budget/limiter.ts';
import { type Clock, HOUR } from '../clock.ts';
import { codeOf, isKind, SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Expected } from './answers/answer.ts';
import { type Meta, readMeta } from './answers/meta.ts';
import { createAddress } from './http/address.ts';
import { withAnySignal } from './http/any-signal.ts';
import { type Call, createAttempt } from './http/attempt.ts';
import { openAgent } from './http/exchange.ts';
import { exhausted, rejected } from './http/outcome-errors.ts';
import { BLOCKED, FAILURES, retryDelayMs } from './http/retry.ts';
import { unknownBefore } from './http/unknown-outcome.ts';
import { COMMAND_WORDING, type Wording } from './http/wording.ts';

export type { Meta } from './answers/meta.ts';

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
  /** Largest accepted body, both packed and after decompression. Default 64 MiB: 1000 rows of 64 KB each. */
  maxBodyBytes?: number;
  /** The source's rate window, the longest wait a header can ask for. Default one hour. */
  windowMs?: number;
  /** Reject with the kind `quota` instead of waiting more than 5 s for a limit that is used up. Default false. */
  noWait?: boolean;
  /** Told whenever a lane waits for the limit, e.g. to show until when. */
  onWait?: (lane: Lane, waitMs: number) => void;
  /** Told before a request is repeated: what came instead of an answer, and how long it waits. */
  onRetry?: (came: string, waitMs: number) => void;
  clock: Clock;
  log?: Log;
  /** For the jitter of retries. Default `Math.random`. */
  random?: () => number;
  /** How messages name the settings. Default as the commands' environment does. */
  wording?: Wording;
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
  expect?: Expected;
}

export interface Client {
  /** One page of a list. */
  list(
    path: string,
    query: Readonly<Record<string, string>>,
    ask: { page?: number | undefined; limit?: number | undefined },
    context: RequestContext,
  ): Promise<ListAnswer>;
  /** One record, or one report. */
  get(path: string, context: RequestContext, query?: Readonly<Record<string, string>>): Promise<OneAnswer>;
  request(request: SourceRequest, context: RequestContext): Promise<Answer>;
  /** Stops what is waiting and in flight, settles it, and closes the connections. */
  close(): Promise<void>;
}

export interface OpenClient extends Client {
  /** Takes the key out of a text from an answer: a source may repeat what it was sent. To be done before the text is cut. */
  hide(text: string): string;
}

/** What is too large stays so, and each attempt brings as much again; once more is for the one that was an accident. */
const MOST_TOO_LARGE = 2;

/**
 * A client of one installation. Every attempt takes its own grant from the budget and settles it exactly once, whatever
 * becomes of it. Errors: `unauthorized`, `refused` and `unavailable` as the source answers, `stopped` when the signal aborts
 * or the client is closed, `quota` with `noWait`, `configuration` at once for a wrong address or key.
 *
 * @example
 * const client = openClient({ url, apiKey, auth: 'bearer', budget, concurrency: 4, timeoutMs: 30_000, clock: systemClock });
 * const answer = await client.list('/api/v2/customers', {}, { page: 1, limit: 1000 }, { lane: 'live', purpose: 'customers' });
 * if (answer.kind === 'rows') console.log(answer.rows.length, answer.meta?.totalRecords);
 * await client.close();
 */
export function openClient(options: ClientOptions): OpenClient {
  const { clock, log, timeoutMs, random = Math.random, wording = COMMAND_WORDING } = options;
  const address = createAddress(options);
  const agent = openAgent({ connections: options.concurrency, timeoutMs });
  const closing = new AbortController();
  const limiter = createLimiter({
    budget: options.budget,
    concurrency: options.concurrency,
    clock,
    noWait: options.noWait ?? false,
    ...(options.onWait && { onWait: options.onWait }),
    onReleaseError: error => log?.warn({ err: error }, 'unused requests could not be given back'),
  });
  const attempt = createAttempt({
    agent,
    address,
    limiter,
    budget: options.budget,
    clock,
    timeoutMs,
    maxBodyBytes: options.maxBodyBytes ?? 64 * 2 ** 20,
    windowMs: options.windowMs ?? HOUR,
    random,
    closing: closing.signal,
    ...(log && { log }),
  });

  async function request(ask: SourceRequest, context: RequestContext): Promise<Answer> {
    const call = prepare(ask);
    // One signal serves a whole run; Node warns on stderr from the eleventh request that waits on it.
    if (context.signal) setMaxListeners(0, context.signal);
    const failing = { ...FAILURES, attempts: context.attempts ?? FAILURES.attempts };
    let requests = 0;
    let failures = 0;
    let blocks = 0;
    let tooLarge = 0;
    let unknown = false;
    try {
      for (;;) {
        const tried = await attempt(call, context, blocks + 1);
        const { verdict, grantedAt, bytes } = tried;
        if (tried.sent) requests++;
        if (verdict.kind === 'success') return { kind: 'success', body: verdict.body, grantedAt, requests, bytes };
        if (verdict.kind === 'gone') return { kind: 'gone', grantedAt, requests };
        if (verdict.kind !== 'retry') throw rejected(call, tried.status, verdict, wording);
        const tries = verdict.blocksKey ? ++blocks : ++failures;
        const law = verdict.blocksKey ? BLOCKED : failing;
        // Repeating a POST that may have arrived could create the thing twice.
        const mayRepeat = call.method !== 'POST' || verdict.blocksKey || !tried.sent;
        unknown ||= call.method !== 'GET' && tried.sent && !verdict.blocksKey;
        if (verdict.asks === 'less') tooLarge++;
        const isOver = tries >= law.attempts || tooLarge >= MOST_TOO_LARGE;
        if (isOver || !mayRepeat) throw exhausted(call, tried, verdict, { tries, unknown, wording });
        // After a 429 the ledger itself holds back everyone on this key, so the next grant is the wait.
        const waitMs = verdict.blocksKey ? 0 : retryDelayMs(law, tries, random, verdict.minimumMs);
        log?.info({ asked: call.asked, attempt: tries, waitMs, came: verdict.what }, 'request is repeated');
        if (waitMs > 0) {
          options.onRetry?.(verdict.what, waitMs);
          await pause(waitMs, context.signal);
        }
      }
    } catch (error) {
      throw unknown ? unknownBefore(call.asked, error) : error;
    }
  }

  function prepare(ask: SourceRequest): Call {
    const query = ask.query ?? {};
    const search = new URLSearchParams(query).toString();
    return {
      method: ask.method,
      expect: ask.expect ?? 'any',
      asked: address.hide(`${ask.method} ${ask.path}${search && `?${search}`}`),
      url: address.url(ask.path, query),
      body: ask.body === undefined ? undefined : JSON.stringify(ask.body),
    };
  }

  function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return withAnySignal([signal, closing.signal], controller => clock.sleep(ms, controller.signal));
  }

  return {
    request,
    hide: address.hide,
    async list(path, query, ask, context) {
      const paging = {
        ...(ask.page !== undefined && { page: String(ask.page) }),
        ...(ask.limit !== undefined && { limit: String(ask.limit) }),
      };
      const answer = await request({ method: 'GET', path, query: { ...query, ...paging }, expect: 'list' }, context);
      if (answer.kind === 'gone') return answer;
      const { body, ...spent } = answer;
      const meta = readMeta(body.meta);
      return { ...spent, kind: 'rows', rows: body.data as unknown[], ...(meta && { meta }) };
    },
    async get(path, context, query = {}) {
      const answer = await request({ method: 'GET', path, query, expect: 'one' }, context);
      if (answer.kind === 'gone') return answer;
      const { grantedAt, requests } = answer;
      return { kind: 'one', record: answer.body.data as Record<string, unknown>, grantedAt, requests };
    },
    async close() {
      closing.abort(new SluiceError('stopped', 'The client was closed.'));
      await limiter.close();
      await agent.destroy();
    },
  };
}

/** True when a request was given up because of time-outs: asking for less may help. */
export function isTimeout(error: unknown): boolean {
  return isKind(error, 'unavailable') && codeOf(error.cause) === 'ETIMEDOUT';
}
