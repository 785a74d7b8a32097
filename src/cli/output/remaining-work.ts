import { SECOND } from '../../clock.ts';
import { count, plural } from '../../service/format.ts';
import type { OrderProgress } from '../../warehouse/reports/report.ts';

/** What an open order still needs. */
export interface OrderLeft {
  readonly requests: number;
  /** Epoch milliseconds, about; null while parts were never read, so that nobody knows what they hold. */
  readonly finishesAt: number | null;
}

/**
 * Below the live lane requests are paced at window / limit, so that is how fast an order goes once the first half of the window
 * is spent; `abreast` of them share it.
 */
export function orderLeft(
  progress: OrderProgress,
  source: { limit: number; windowMs: number },
  now: number,
  abreast: number,
): OrderLeft {
  const { requestsLeft: requests, neverRead, slices } = progress;
  const known = neverRead === 0 && slices > 0;
  const longMs = Math.max((requests * abreast * source.windowMs) / source.limit, SECOND);
  return { requests, finishesAt: known ? Math.round(now + longMs) : null };
}

export function leftText({ requests, finishesAt }: OrderLeft, at: (value: number) => string): string {
  if (finishesAt === null) return `at least ${plural(requests, 'request')}`;
  return `${count(requests)}, until about ${at(finishesAt).slice(0, 16)}`;
}
