import type { Sandbox } from '../sandbox/sandbox.ts';

export const PROCESSES = 4;
/** SOURCE_CONCURRENCY of each process. */
export const CONCURRENCY = 4;

/** The result of one measurement. */
export interface Figures {
  readonly requests: number;
  /** Requests beyond the limit, in the fullest rolling window. */
  readonly over: number;
  readonly rejected: number;
  /** Part of the limit that was used, from 0 to 1. */
  readonly share: number;
  /** Requests lost to each kill: no commit kept their answers. */
  readonly wasted: readonly number[];
  /** Requests of other lanes granted while each live request waited, and while each tick of the schedule waited. */
  readonly passed: readonly number[];
  readonly passedTicks: readonly number[];
}

/** From the server's own counts. The share covers the requests from `fromMs` to `toMs`. */
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
