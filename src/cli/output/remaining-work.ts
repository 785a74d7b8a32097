import { SECOND } from '../../clock.ts';
import { count, plural } from '../../service/format.ts';
import type { OrderProgress } from '../../warehouse/reports/report.ts';

/** What an open order still needs. */
export interface RemainingWork {
  readonly requests: number;
  /** Estimate in epoch milliseconds; null while some parts were never read, because their size is unknown. */
  readonly finishesAt: number | null;
}

/**
 * Lanes below live are paced at window / limit, so that is an order's speed once half of the window's requests are used.
 * `openOrders` orders share it.
 */
export function estimateRemaining(
  progress: OrderProgress,
  source: { limit: number; windowMs: number },
  now: number,
  openOrders: number,
): RemainingWork {
  const { requestsLeft: requests, neverRead, slices } = progress;
  const isKnown = neverRead === 0 && slices > 0;
  const durationMs = Math.max((requests * openOrders * source.windowMs) / source.limit, SECOND);
  return { requests, finishesAt: isKnown ? Math.round(now + durationMs) : null };
}

export function remainingText({ requests, finishesAt }: RemainingWork, at: (value: number) => string): string {
  if (finishesAt === null) return `at least ${plural(requests, 'request')}`;
  return `${count(requests)}, until about ${at(finishesAt).slice(0, 16)}`;
}
