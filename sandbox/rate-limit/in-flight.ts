import { setTimeout as delay } from 'node:timers/promises';
import { SECOND } from '../../src/clock.ts';
import { failure, htmlPage } from '../envelopes/responses.ts';
import type { Variants } from '../variants/variants.ts';
import { retryText } from './rate-limit.ts';

/** The requests that are being served. */
export interface InFlight {
  /** Whether there is room for one more; it is then being served until `leave`. */
  enter(concurrency: Variants['concurrency']): boolean;
  /** Answers of this process are ready at once. If their number at a time matters, they take long enough to overlap. */
  hold(concurrency: Variants['concurrency']): Promise<void>;
  leave(): void;
}

const HOLD_MS = 10;
const MOST_HOLDS = 10;

export function createInFlight(): InFlight {
  let served = 0;
  let arrived = 0;
  return {
    enter(concurrency) {
      arrived += 1;
      if (concurrency !== 'any' && served >= Number(concurrency.split('-')[0])) return false;
      served += 1;
      return true;
    },
    async hold(concurrency) {
      if (concurrency === 'any') return;
      // Requests that are sent at once may arrive more slowly on a busy machine.
      for (let holds = 0, before = -1; before !== arrived && holds < MOST_HOLDS; holds++) {
        before = arrived;
        await delay(HOLD_MS);
      }
    },
    leave() {
      served -= 1;
    },
  };
}

const MESSAGE = 'Too many connections';

/** The response to a request beyond the concurrency. */
export function crowdedResponse(variants: Variants, now: number): Response {
  const status = variants.concurrency.endsWith('-503') ? 503 : 429;
  const response = variants['rejected-body'] === 'html' ? htmlPage(status, MESSAGE) : failure(status, MESSAGE);
  const retry = retryText(now + SECOND, now, variants['retry-after']);
  if (retry !== undefined) response.headers.set('Retry-After', retry);
  return response;
}
