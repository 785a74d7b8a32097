import { SECOND } from '../../clock.ts';
import type { OrderProgress } from '../../warehouse/reports/report.ts';
import { count, plural } from '../format.ts';

/** What an open order still needs. */
export interface RemainingWork {
  readonly requests: number;
  /** Estimate in epoch milliseconds; null while some parts were never read, because their size is unknown. */
  readonly finishesAt: number | null;
}

/** How fast a source can be read. */
export interface Pace {
  readonly limit: number;
  readonly windowMs: number;
  /** When the next request may be sent (epoch ms); null for now. */
  readonly nextFreeAt: number | null;
}

/** When `requests` will have been sent, in epoch milliseconds: at the speed of the limit, from the next free request on. */
export const finishTime = (requests: number, { limit, windowMs, nextFreeAt }: Pace, now: number): number =>
  Math.round(Math.max(now, nextFreeAt ?? now) + Math.max((requests * windowMs) / limit, SECOND));

/**
 * Lanes below live are paced at window / limit, so that is an order's speed once half of the window's requests are used.
 * `openOrders` orders share it.
 */
export function estimateRemaining(progress: OrderProgress, pace: Pace, now: number, openOrders: number): RemainingWork {
  const { requestsLeft: requests, neverRead, slices } = progress;
  const isKnown = neverRead === 0 && slices > 0;
  return { requests, finishesAt: isKnown ? finishTime(requests * openOrders, pace, now) : null };
}

export function remainingText({ requests, finishesAt }: RemainingWork, at: (value: number) => string): string {
  if (finishesAt !== null) return `${count(requests)}, until about ${at(finishesAt).slice(0, 16)}`;
  return requests === 0 ? 'not known yet' : `at least ${plural(requests, 'request')}`;
}
