import type { Agent } from 'undici';
import type { Budget, Grant, Lane, Settlement } from '../../budget/budget.ts';
import type { Limiter } from '../../budget/limiter.ts';
import { type Clock, stopped } from '../../clock.ts';
import { codeOf } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { classify, type Verdict } from '../answers/classify.ts';
import type { Expected } from '../answers/envelope.ts';
import { parseRateHeaders } from '../answers/rate-limit.ts';
import { shorten } from '../answers/text.ts';
import type { Address } from '../http/address.ts';
import { describeFailure, type Exchange, exchange, type KnownBody } from '../http/exchange.ts';
import { stoppedInFlight } from './outcome-errors.ts';
import { BLOCKED, retryDelayMs } from './retry.ts';

/** A request that is ready to be sent any number of times. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly expect: Expected;
  /** Method, path and query, without the key: how messages name the request. */
  readonly label: string;
  /** With `auth: 'query'` it holds the key and is never shown. */
  readonly url: string;
  readonly body: string | undefined;
  readonly known?: KnownBody | undefined;
}

/** The result of one attempt. */
export interface Attempt {
  readonly verdict: Verdict;
  readonly status: number | null;
  /** It counts against the limit. */
  readonly sent: boolean;
  readonly bytes: number;
  readonly grantedAt: string;
  readonly cause?: Error;
}

/** `blocks`: how many answers in a row the call will have had that refuse it for the limit, if this is one. */
export type SendAttempt = (call: Call, context: AttemptContext, blocks: number) => Promise<Attempt>;

export interface AttemptOptions {
  readonly agent: Agent;
  readonly address: Address;
  readonly limiter: Limiter;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  readonly windowMs: number;
  readonly random: () => number;
  readonly closing: AbortSignal;
  readonly log?: Log;
}

export interface AttemptContext {
  readonly lane: Lane;
  /** Why the request is sent, for the ledger, e.g. `customers ids 1..100`. */
  readonly purpose: string;
  readonly runId?: string;
  readonly signal?: AbortSignal;
  /**
   * Awaited right before the request goes out, once it has its grant; if it rejects, nothing is sent. From then on the answer is awaited,
   * whatever `signal` says.
   */
  readonly beforeSending?: () => Promise<void>;
}

/**
 * Creates the function that waits for a grant, sends a call once, and settles the grant: exactly once for each request that may have
 * reached the server, also when it was stopped. The grant is released only when no connection was established.
 */
export function createAttempt(options: AttemptOptions): SendAttempt {
  const { address, limiter, budget, clock, closing, log } = options;
  return (call, context, blocks) =>
    limiter.schedule(context.lane, context.signal, async (grant, place) => {
      await context.beforeSending?.().catch(async (error: unknown) => {
        await limiter.release([grant]);
        throw error;
      });
      const startedMs = clock.now();
      const outcome = await exchange({
        agent: options.agent,
        method: call.method,
        url: call.url,
        headers: { ...address.headers, ...(call.body !== undefined && { 'content-type': 'application/json' }) },
        body: call.body,
        signals: [context.beforeSending ? undefined : context.signal, closing],
        timeoutMs: options.timeoutMs,
        maxBodyBytes: options.maxBodyBytes,
        known: call.known,
      });
      const verdict = verdictOf(outcome, call, grant, options);
      if (verdict.kind !== 'retry') place.report('served');
      else if (verdict.refusal === 'crowded') place.report('crowded');
      const sent = outcome.kind !== 'failed' || outcome.reachedServer;
      if (sent) await budget.settle(grant, settlementOf(outcome, verdict, { context, blocks }, options));
      else await limiter.release([grant]);
      const status = statusOf(outcome);
      const ms = clock.now() - startedMs;
      log?.debug({ request: call.label, lane: context.lane, status, outcome: outcome.kind, ms }, 'request');
      if (outcome.kind === 'aborted') {
        const reason = stopped(context.signal?.aborted ? context.signal : closing);
        throw call.method === 'GET' ? reason : stoppedInFlight(call.label, reason);
      }
      return {
        verdict,
        status,
        sent,
        bytes: 'bytes' in outcome ? outcome.bytes : 0,
        grantedAt: grant.grantedAt,
        ...(outcome.kind === 'failed' && { cause: causeOf(outcome, address.hide) }),
      };
    });
}

const statusOf = (outcome: Exchange): number | null => ('status' in outcome ? outcome.status : null);

function verdictOf(outcome: Exchange, call: Call, { unused }: Grant, options: AttemptOptions): Verdict {
  const { address, clock, windowMs, timeoutMs, maxBodyBytes } = options;
  const known = { nowMs: clock.now(), windowMs, unused };
  switch (outcome.kind) {
    case 'answer': {
      const verdict = fitToShow(classify(outcome, call.expect, known), address.hide);
      return verdict.kind === 'success' && outcome.digest !== undefined
        ? { ...verdict, digest: outcome.digest }
        : verdict;
    }
    case 'known': {
      const { meta, digest, decode } = outcome;
      return { kind: 'success', body: { meta }, digest, reread: () => classify(decode(), call.expect, known) };
    }
    case 'too large': {
      const what = `HTTP ${outcome.status} with a body of more than ${maxBodyBytes} bytes`;
      return { kind: 'retry', what, asks: 'less' };
    }
    case 'failed': {
      const place = { origin: address.origin, host: address.host, timeoutMs };
      return { kind: 'retry', what: address.hide(describeFailure(outcome, place)) };
    }
    case 'aborted':
      return { kind: 'retry', what: 'stopped' };
  }
}

function settlementOf(
  outcome: Exchange,
  verdict: Verdict,
  { context, blocks }: { context: AttemptContext; blocks: number },
  { clock, windowMs, random }: AttemptOptions,
): Settlement {
  const { purpose, runId } = context;
  const known = { purpose, ...(runId !== undefined && { runId }) };
  if (!('headers' in outcome)) return { ...known, status: null };
  const { limit, remaining, resetMs } = parseRateHeaders(outcome.headers, { nowMs: clock.now(), windowMs });
  const { refusal, minimumMs } = verdict.kind === 'retry' ? verdict : {};
  // A pause that is asked for because of too many requests at once is not made longer.
  const pauseMs = outcome.status === 429 ? minimumMs : undefined;
  const blockedForMs = refusal === 'quota' ? retryDelayMs(BLOCKED, blocks, random, minimumMs) : pauseMs;
  return {
    ...known,
    status: outcome.status,
    ...(limit !== undefined && { limit }),
    ...(remaining !== undefined && { remaining }),
    ...(resetMs !== undefined && { resetMs }),
    ...(blockedForMs !== undefined && { blockedForMs }),
    ...(refusal === 'crowded' && { crowded: true }),
  };
}

/** A source may repeat the key in its messages. It is removed before the text is shortened: half a key would not be recognised. */
function fitToShow(verdict: Verdict, hide: (text: string) => string): Verdict {
  const short = (text: string) => shorten(hide(text));
  if (verdict.kind === 'retry') return { ...verdict, what: short(verdict.what) };
  if (verdict.kind === 'unauthorized') return { ...verdict, message: short(verdict.message) };
  if (verdict.kind === 'gone' && verdict.instead !== undefined) return { ...verdict, instead: short(verdict.instead) };
  if (verdict.kind !== 'refused') return verdict;
  const fields = Object.entries(verdict.fields ?? {}).map(([field, text]) => [short(field), short(text)]);
  return {
    kind: 'refused',
    message: short(verdict.message),
    ...(verdict.fields && { fields: Object.fromEntries(fields) as Record<string, string> }),
  };
}

/** A copy of the error with nothing but its message and code: undici's errors can carry the whole request. */
function causeOf({ error, timedOut }: { error: unknown; timedOut: boolean }, hide: (text: string) => string): Error {
  const message = error instanceof Error ? error.message : String(error);
  return Object.assign(new Error(hide(message)), { code: timedOut ? 'ETIMEDOUT' : codeOf(error) });
}
