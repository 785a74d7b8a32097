import type { Agent } from 'undici';
import type { Budget, Lane, Settlement } from '../../budget/budget.ts';
import type { Limiter } from '../../budget/limiter.ts';
import { type Clock, stopped } from '../../clock.ts';
import { codeOf } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { classify, type Expected, type Verdict } from '../answers/answer.ts';
import type { Address } from './address.ts';
import { cutShort } from './cut-short.ts';
import { describeFailure, type Exchange, exchange } from './exchange.ts';
import { parseRateHeaders } from './rate-headers.ts';
import { BLOCKED, retryDelayMs } from './retry.ts';
import { stoppedUnderWay } from './unknown-outcome.ts';

/** A request made ready to be sent any number of times. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly expect: Expected;
  /** Method, path and query, without the key: how messages name it. */
  readonly asked: string;
  readonly url: string;
  readonly body: string | undefined;
}

/** What one attempt came to. `sent`: it counts against the limit. */
export interface Attempt {
  verdict: Verdict;
  status: number | null;
  sent: boolean;
  bytes: number;
  grantedAt: string;
  cause?: Error;
}

export interface AttemptOptions {
  agent: Agent;
  address: Address;
  limiter: Limiter;
  budget: Budget;
  clock: Clock;
  timeoutMs: number;
  maxBodyBytes: number;
  windowMs: number;
  random: () => number;
  closing: AbortSignal;
  log?: Log;
}

interface Context {
  lane: Lane;
  purpose: string;
  runId?: string;
  signal?: AbortSignal;
}

/**
 * Makes the function that waits for a grant, sends once, and settles the grant: exactly once for each request that may have
 * reached the server, also when it was stopped. Only where no connection came about is the grant released.
 */
export function createAttempt(
  options: AttemptOptions,
): (call: Call, context: Context, blocks: number) => Promise<Attempt> {
  const { address, limiter, budget, clock, closing, log, timeoutMs, maxBodyBytes, windowMs, random } = options;

  function judge(came: Exchange, expected: Expected): Verdict {
    if (came.kind === 'answer') {
      return fitToShow(classify(came, expected, { nowMs: clock.now(), windowMs }), address.hide);
    }
    if (came.kind === 'too large') {
      const what = `HTTP ${came.status} with a body of more than ${maxBodyBytes} bytes`;
      return { kind: 'retry', what, blocksKey: false, asks: 'less' };
    }
    const place = { origin: address.origin, host: address.host, timeoutMs };
    const what = came.kind === 'failed' ? address.hide(describeFailure(came, place)) : 'stopped';
    return { kind: 'retry', what, blocksKey: false };
  }

  function settlement(came: Exchange, verdict: Verdict, context: Context, blocks: number): Settlement {
    const { purpose, runId } = context;
    const known = { purpose, ...(runId !== undefined && { runId }) };
    if (came.kind !== 'answer' && came.kind !== 'too large') return { ...known, status: null };
    const { limit, remaining } = parseRateHeaders(came.headers, { nowMs: clock.now(), windowMs });
    const blocked = verdict.kind === 'retry' && verdict.blocksKey;
    return {
      ...known,
      status: came.status,
      ...(limit !== undefined && { limit }),
      ...(remaining !== undefined && { remaining }),
      ...(blocked && { blockedForMs: retryDelayMs(BLOCKED, blocks, random, verdict.minimumMs) }),
    };
  }

  return (call, context, blocks) =>
    limiter.schedule(context.lane, context.signal, async grant => {
      const startedMs = clock.now();
      const came = await exchange({
        agent: options.agent,
        method: call.method,
        url: call.url,
        headers: { ...address.headers, ...(call.body !== undefined && { 'content-type': 'application/json' }) },
        body: call.body,
        signals: [context.signal, closing],
        timeoutMs,
        maxBodyBytes,
      });
      const verdict = judge(came, call.expect);
      const sent = came.kind !== 'failed' || came.reachedServer;
      if (sent) await budget.settle(grant, settlement(came, verdict, context, blocks));
      else await limiter.release([grant]);
      const status = came.kind === 'answer' || came.kind === 'too large' ? came.status : null;
      const ms = clock.now() - startedMs;
      log?.debug({ asked: call.asked, lane: context.lane, status, came: came.kind, ms }, 'request');
      if (came.kind === 'aborted') {
        const reason = stopped(context.signal?.aborted ? context.signal : closing);
        throw call.method === 'GET' ? reason : stoppedUnderWay(call.asked, reason);
      }
      return {
        verdict,
        status,
        sent,
        bytes: came.kind === 'answer' ? came.bytes : 0,
        grantedAt: grant.grantedAt,
        ...(came.kind === 'failed' && { cause: causeOf(came, address.hide) }),
      };
    });
}

/** A source may repeat the key it was sent in what it says about it. Cut after that: half a key would not be recognised. */
function fitToShow(verdict: Verdict, hide: (text: string) => string): Verdict {
  const short = (text: string) => cutShort(hide(text));
  if (verdict.kind === 'retry') return { ...verdict, what: short(verdict.what) };
  if (verdict.kind === 'unauthorized') return { ...verdict, message: short(verdict.message) };
  if (verdict.kind !== 'refused') return verdict;
  const fields = Object.entries(verdict.fields ?? {}).map(([field, text]) => [short(field), short(text)]);
  return {
    kind: 'refused',
    message: short(verdict.message),
    ...(verdict.fields && { fields: Object.fromEntries(fields) as Record<string, string> }),
  };
}

/** A copy without what a library may have put beside the message: undici's errors can carry the whole request. */
function causeOf({ error, timedOut }: { error: unknown; timedOut: boolean }, hide: (text: string) => string): Error {
  const message = error instanceof Error ? error.message : String(error);
  return Object.assign(new Error(hide(message)), { code: timedOut ? 'ETIMEDOUT' : codeOf(error) });
}
