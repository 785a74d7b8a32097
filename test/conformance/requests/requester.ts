import { HOUR, SECOND } from '../../../src/clock.ts';
import { SluiceError } from '../../../src/errors.ts';
import { parseRateHeaders } from '../../../src/source/http/rate-headers.ts';
import { FAILURES, retryDelayMs } from '../../../src/source/http/retry.ts';
import { type Answer, type NoAnswer, openSender, type Question, type SenderOptions } from './send-request.ts';

/** Something that went wrong once, and not when it was asked again. */
export interface Stumble {
  /** By the names of `sluice sandbox --faults`. */
  readonly fault: string;
  readonly asked: string;
}

/** An answer, and which request it answers: those without an answer may have been counted too. */
export type Counted = Answer & { readonly number: number };

export interface Asker {
  ask(path: string, question?: Question): Promise<Answer>;
  /** Requests sent so far, repeated ones included. */
  readonly sent: number;
  /** Requests that may still be sent. */
  readonly left: number;
  readonly answers: readonly Counted[];
  readonly stumbles: readonly Stumble[];
  /** Something that turned out to have gone wrong later. */
  note(stumble: Stumble): void;
  /** Milliseconds since the epoch. */
  now(): number;
  close(): Promise<void>;
}

/** The most that one run of the suite asks of an installation. */
export const MOST_REQUESTS = 60;
const TRIES = 3;
/** What is doubted and comes again is true. */
const DOUBTS = 2;
/** Other tools on the same key are to find something left. */
const SPARED = 5;
const LONGEST_WAIT = 10 * SECOND;

/**
 * Asks one thing at a time, and keeps what came. Repeats what did not come to an answer. Kinds: `quota` when the suite's requests
 * or the source's are used up, `unavailable` without any answer.
 */
export function openAsker(options: SenderOptions): Asker {
  const { clock } = options;
  const sender = openSender(options);
  const answers: Counted[] = [];
  const stumbles: Stumble[] = [];
  let sent = 0;
  let free = Number.POSITIVE_INFINITY;

  async function once(path: string, question: Question, asked: string): Promise<Answer | NoAnswer> {
    if (sent >= MOST_REQUESTS) throw new SluiceError('quota', `the ${MOST_REQUESTS} requests of one run were used up`);
    if (free <= SPARED)
      throw new SluiceError('quota', `only ${free} requests are left to this key until its limit resets`);
    sent += 1;
    const came = await sender.send(path, question);
    if ('fault' in came) return came;
    answers.push({ ...came, number: sent });
    const { remaining } = parseRateHeaders(came.headers, { nowMs: came.at, windowMs: HOUR });
    if (came.own && remaining !== undefined) free = remaining;
    if (came.status === 429 && (remaining ?? 0) === 0)
      throw new SluiceError('quota', `the source's limit is used up: HTTP 429 for ${asked}`);
    return came;
  }

  /** What is wrong with an answer, by the name of a fault. */
  function troubleIn(came: Answer | NoAnswer, path: string, question: Question): string | null {
    if ('fault' in came) return came.fault;
    if (came.verdict.kind === 'retry') return sender.faultIn(came, path, question);
    return came.verdict.kind === 'success' ? (question.doubt?.(came) ?? null) : null;
  }

  return {
    async ask(path, question = {}) {
      const asked = sender.name(path, question);
      let before: string | null = null;
      for (let tries = 1; ; tries++) {
        const came = await once(path, question, asked);
        const trouble = troubleIn(came, path, question);
        if (before !== null && trouble === null) stumbles.push({ fault: before, asked });
        const failed = 'fault' in came || came.verdict.kind === 'retry';
        // A create that may have arrived is never repeated.
        const last = tries >= (failed ? TRIES : DOUBTS) || question.method === 'POST';
        if (trouble === null || last) {
          if ('fault' in came) throw noAnswer(asked, came);
          return came;
        }
        before ??= trouble;
        if (failed) await clock.sleep(waitMs(came, tries));
      }
    },
    get sent() {
      return sent;
    },
    get left() {
      return Math.min(MOST_REQUESTS - sent, Math.max(0, free - SPARED));
    },
    answers,
    stumbles,
    note: stumble => void stumbles.push(stumble),
    now: () => clock.now(),
    close: () => sender.close(),
  };
}

/** A time-out is told as Sluice's own client tells it. */
function noAnswer(asked: string, { what, timedOut }: NoAnswer): SluiceError {
  return new SluiceError('unavailable', `${asked}: ${what}`, timedOut ? { cause: { code: 'ETIMEDOUT' } } : {});
}

function waitMs(came: Answer | NoAnswer, tries: number): number {
  const minimumMs = 'fault' in came || came.verdict.kind !== 'retry' ? 0 : came.verdict.minimumMs;
  return Math.min(retryDelayMs(FAILURES, tries, Math.random, minimumMs), LONGEST_WAIT);
}
