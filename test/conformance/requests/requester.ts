import { HOUR, SECOND } from '../../../src/clock.ts';
import { SluiceError } from '../../../src/errors.ts';
import { parseRateHeaders } from '../../../src/source/answers/rate-limit.ts';
import { FAILURES, retryDelayMs } from '../../../src/source/requests/retry.ts';
import {
  type Answer,
  type FailedRequest,
  openSender,
  type RequestOptions,
  type Sender,
  type SenderOptions,
} from './send-request.ts';

/** A fault that did not recur when the request was repeated. */
export interface TransientFault {
  /** A name of `sluice sandbox --faults`. */
  readonly fault: string;
  /** Method, path and query. */
  readonly request: string;
}

/** An answer and the number of its request; requests without an answer have numbers too, and may have been counted. */
export type NumberedAnswer = Answer & { readonly number: number };

export interface Requester {
  request(path: string, options?: RequestOptions): Promise<Answer>;
  /** Sends so many equal requests at once, without retries. Kind `quota`, and none is sent, if fewer are left. */
  burst(path: string, options: RequestOptions, count: number): Promise<(Answer | FailedRequest)[]>;
  /** Number of requests sent, including retries. */
  readonly sent: number;
  /** Number of requests that may still be sent. */
  readonly left: number;
  readonly answers: readonly NumberedAnswer[];
  readonly transientFaults: readonly TransientFault[];
  /** Records a fault that was detected later. */
  recordFault(fault: TransientFault): void;
  /** Milliseconds since the epoch. */
  now(): number;
  sleep(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** The maximum number of requests of one run. */
export const MAX_REQUESTS = 80;
const MAX_ATTEMPTS = 3;
/** A suspicious answer that is repeated is believed. */
const MAX_ATTEMPTS_IF_SUSPICIOUS = 2;
/** Requests left to other tools with the same key. */
const RESERVED = 5;
const MAX_WAIT_MS = 10 * SECOND;

/**
 * Sends one request at a time, apart from bursts, keeps the answers, and repeats failed requests. Errors: kind `quota` when the requests of the
 * run or of the source are used up, kind `unavailable` when a request gets no answer.
 */
export function openRequester(senderOptions: SenderOptions): Requester {
  const { clock } = senderOptions;
  const sender = openSender(senderOptions);
  const answers: NumberedAnswer[] = [];
  const transientFaults: TransientFault[] = [];
  /** Suspicions that a repetition confirmed, as fault and path: the source is like that, and later requests are not repeated. */
  const confirmed = new Set<string>();
  let sent = 0;
  let remainingAtSource = Number.POSITIVE_INFINITY;

  async function sendOnce(path: string, options: RequestOptions, name: string): Promise<Answer | FailedRequest> {
    if (sent >= MAX_REQUESTS) throw new SluiceError('quota', `the ${MAX_REQUESTS} requests of one run are used up`);
    if (remainingAtSource <= RESERVED)
      throw new SluiceError('quota', `only ${remainingAtSource} requests are left to this key until its limit resets`);
    sent += 1;
    const result = await sender.send(path, options);
    if ('fault' in result) return result;
    answers.push({ ...result, number: sent });
    const { remaining } = parseRateHeaders(result.headers, { nowMs: result.at, windowMs: HOUR });
    if (result.withOwnKey && remaining !== undefined) remainingAtSource = remaining;
    if (result.status === 429 && (remaining ?? 0) === 0)
      throw new SluiceError('quota', `the source's limit is used up: HTTP 429 for ${name}`);
    return result;
  }

  const left = () => Math.min(MAX_REQUESTS - sent, Math.max(0, remainingAtSource - RESERVED));

  return {
    async burst(path, options, count) {
      if (left() < count)
        throw new SluiceError('quota', `only ${left()} requests are left, and a burst takes ${count}`);
      sent += count;
      const together = openSender(senderOptions, count);
      try {
        return await Promise.all(Array.from({ length: count }, () => together.send(path, options)));
      } finally {
        await together.close();
      }
    },
    async request(path, options = {}) {
      const name = sender.name(path, options);
      let firstFault: string | null = null;
      for (let attempt = 1; ; attempt++) {
        const result = await sendOnce(path, options, name);
        const fault = faultIn(result, sender, path, options);
        if (firstFault !== null && fault === null) transientFaults.push({ fault: firstFault, request: name });
        const failed = 'fault' in result || result.verdict.kind === 'retry';
        const suspicion = fault === null || failed ? null : `${fault} ${path}`;
        const isConfirmed = suspicion !== null && (confirmed.has(suspicion) || fault === firstFault);
        if (isConfirmed) confirmed.add(suspicion);
        // A create is never repeated: it may have been carried out.
        const mayRepeat = attempt < (failed ? MAX_ATTEMPTS : MAX_ATTEMPTS_IF_SUSPICIOUS) && options.method !== 'POST';
        if (fault === null || isConfirmed || !mayRepeat) {
          if ('fault' in result) throw unavailableError(name, result);
          return result;
        }
        firstFault ??= fault;
        if (failed) await clock.sleep(waitMs(result, attempt));
      }
    },
    get sent() {
      return sent;
    },
    get left() {
      return left();
    },
    answers,
    transientFaults,
    recordFault: fault => void transientFaults.push(fault),
    now: () => clock.now(),
    sleep: ms => clock.sleep(ms),
    close: () => sender.close(),
  };
}

/** The name of the fault in a result, or null. */
function faultIn(result: Answer | FailedRequest, sender: Sender, path: string, options: RequestOptions): string | null {
  if ('fault' in result) return result.fault;
  if (result.verdict.kind === 'retry') return sender.faultIn(result, path, options);
  return result.verdict.kind === 'success' ? (options.findFault?.(result) ?? null) : null;
}

/** A timeout has the same cause as in Sluice's own client. */
function unavailableError(name: string, { message, timedOut }: FailedRequest): SluiceError {
  return new SluiceError('unavailable', `${name}: ${message}`, timedOut ? { cause: { code: 'ETIMEDOUT' } } : {});
}

function waitMs(result: Answer | FailedRequest, attempt: number): number {
  const minimumMs = 'fault' in result || result.verdict.kind !== 'retry' ? 0 : result.verdict.minimumMs;
  return Math.min(retryDelayMs(FAILURES, attempt, Math.random, minimumMs), MAX_WAIT_MS);
}
