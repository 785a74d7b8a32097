import type { Sandbox } from '../src/sandbox/sandbox.ts';

export const PROCESSES = 4;
/** SOURCE_CONCURRENCY. */
export const CONCURRENCY = 4;

/** What one measurement came to. */
export interface Figures {
  readonly requests: number;
  /** Beyond the limit, in the fullest rolling window. */
  readonly over: number;
  readonly rejected: number;
  /** Of the limit, from 0 to 1. */
  readonly share: number;
  /** By kill, requests whose answers no commit kept. */
  readonly wasted: readonly number[];
  /** By live request, and by tick of the schedule, requests of other lanes that were granted while it waited. */
  readonly passed: readonly number[];
  readonly passedTicks: readonly number[];
}

/** As the server counted; the share is that of the requests from `fromMs` to `toMs`. */
export function figuresOf(
  { stats }: Sandbox,
  measured: { limit: number; windowMs: number; fromMs: number; toMs: number },
): Pick<Figures, 'requests' | 'over' | 'rejected' | 'share'> {
  const { limit, windowMs, fromMs, toMs } = measured;
  const within = stats.requests.filter(({ at }) => at >= fromMs && at < toMs).length;
  return {
    requests: stats.total,
    over: Math.max(stats.maxInWindow - limit, 0),
    rejected: stats.rejected,
    share: within / ((limit * (toMs - fromMs)) / windowMs),
  };
}
