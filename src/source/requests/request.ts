import { setMaxListeners } from 'node:events';
import { withAnySignal } from '../../any-signal.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Success } from '../answers/classify.ts';
import type { Expected } from '../answers/envelope.ts';
import type { Address } from '../http/address.ts';
import type { KnownBody } from '../http/exchange.ts';
import type { Wording } from '../http/wording.ts';
import type { AttemptContext, Call, SendAttempt } from './attempt.ts';
import { exhausted, rejected, unknownBefore } from './outcome-errors.ts';
import { BLOCKED, CROWDED, FAILURES, type RetryLaw, retryDelayMs } from './retry.ts';

export interface SourceRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** As in the API's document, e.g. `/api/v2/customers`. */
  path: string;
  query?: Readonly<Record<string, string>>;
  body?: unknown;
  /** What `data` must be for the answer to count as a success. Default `any`. */
  expect?: Expected;
  /** To tell whether the answer is one that came before. Default: that is not looked at. */
  known?: KnownBody | undefined;
}

export interface RequestContext extends AttemptContext {
  /** Failed attempts before giving up; answers that refuse the request for now do not count. Default 6. */
  attempts?: number;
}

/** The source has no such page, record or resource (404). */
export interface Gone {
  kind: 'gone';
  /** What the address of a record says in place of 404. */
  instead?: string;
  grantedAt: string;
  /** Requests sent, retries included. */
  requests: number;
}

export type Answer = (Success & { grantedAt: string; requests: number; bytes: number }) | Gone;

/** Sends a request, repeats it while that may help, and throws when it finally failed. */
export type SendRequest = (request: SourceRequest, context: RequestContext) => Promise<Answer>;

export interface RequestOptions {
  readonly attempt: SendAttempt;
  readonly address: Address;
  readonly clock: Clock;
  readonly closing: AbortSignal;
  readonly random: () => number;
  readonly wording: Wording;
  readonly onRetry?: (failure: string, waitMs: number) => void;
  readonly log?: Log;
}

/** An oversized answer stays oversized, and each attempt transfers it again; the second is for the one that was an accident. */
const MAX_OVERSIZED = 2;

const INVALID_BYTES = 'the answer has bytes that are invalid in its encoding; U+FFFD replaces them';

export function createRequest(options: RequestOptions): SendRequest {
  const { attempt, clock, closing, random, wording, onRetry, log } = options;

  function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return withAnySignal([signal, closing], controller => clock.sleep(ms, controller.signal));
  }

  return async (request, context) => {
    const call = prepare(request, options.address);
    // One signal serves a whole run; Node warns on stderr from the eleventh listener on it.
    if (context.signal) setMaxListeners(0, context.signal);
    const failing = { ...FAILURES, attempts: context.attempts ?? FAILURES.attempts };
    let requests = 0;
    const tried = { failed: 0, quota: 0, crowded: 0 };
    let oversized = 0;
    let unknown = false;
    try {
      for (;;) {
        const attempted = await attempt(call, context, tried.quota + 1);
        const { verdict, grantedAt, bytes } = attempted;
        if (attempted.sent) requests++;
        if (verdict.kind === 'success') {
          const { replaced } = verdict;
          if (replaced !== undefined) log?.warn({ request: call.label, records: replaced }, INVALID_BYTES);
          return { ...verdict, grantedAt, requests, bytes };
        }
        if (verdict.kind === 'gone') return { ...verdict, grantedAt, requests };
        if (verdict.kind !== 'retry') throw rejected(call.label, attempted.status, verdict, wording);
        const { refusal = 'failed' } = verdict;
        const tries = ++tried[refusal];
        const law: RetryLaw = { failed: failing, quota: BLOCKED, crowded: CROWDED }[refusal];
        // Repeating a POST that may have been carried out could create a duplicate.
        const mayHaveEffect = attempted.sent && attempted.status !== 429;
        const mayRepeat = call.method !== 'POST' || !mayHaveEffect;
        unknown ||= call.method !== 'GET' && mayHaveEffect;
        if (verdict.asks === 'less') oversized++;
        const isOver = tries >= law.attempts || oversized >= MAX_OVERSIZED;
        if (isOver || !mayRepeat) throw exhausted(call.label, attempted, verdict, { tries, unknown, wording });
        // While the limit is used up the budget itself holds back every request of the key, so the next grant is the wait.
        const waitMs = refusal === 'quota' ? 0 : retryDelayMs(law, tries, random, verdict.minimumMs);
        log?.info({ request: call.label, attempt: tries, waitMs, failure: verdict.what }, 'retrying request');
        if (waitMs > 0) {
          onRetry?.(verdict.what, waitMs);
          await pause(waitMs, context.signal);
        }
      }
    } catch (error) {
      throw unknown ? unknownBefore(call.label, error) : error;
    }
  };
}

function prepare(request: SourceRequest, address: Address): Call {
  const query = request.query ?? {};
  const search = new URLSearchParams(query).toString();
  return {
    method: request.method,
    expect: request.expect ?? 'any',
    label: address.hide(`${request.method} ${request.path}${search && `?${search}`}`),
    url: address.url(request.path, query),
    body: request.body === undefined ? undefined : JSON.stringify(request.body),
    known: request.known,
  };
}
