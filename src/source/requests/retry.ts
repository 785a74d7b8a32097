import { MINUTE, SECOND } from '../../clock.ts';

/** How often a request is repeated, and after what waits. */
export interface RetryLaw {
  /** Attempts in all, the first included. */
  readonly attempts: number;
  readonly capMs: number;
}

/** The first wait, before jitter. */
export const BASE_MS = SECOND;

/** For failures: 5xx, a broken connection, text that is not JSON. Five waits, 16 to 31 s in all. */
export const FAILURES: RetryLaw = { attempts: 6, capMs: MINUTE };

/** For a source that serves too many requests at once. Once fewer are sent, the first attempts succeed; 23 waits, 13 to 19 min in all. */
export const CROWDED: RetryLaw = { attempts: 24, capMs: MINUTE };

/** For a limit that is used up. Without headers its 23 waits outlast an hourly window: 137 minutes in all at the smallest jitter, 147 at the largest. */
export const BLOCKED: RetryLaw = { attempts: 24, capMs: 10 * MINUTE };

/**
 * The wait after the `failures`-th failure in a row: `max(server minimum, min(cap, backoff with jitter))`. The backoff doubles from the
 * base, and the jitter subtracts up to half of it. `random` returns numbers in [0, 1).
 */
export function retryDelayMs(law: RetryLaw, failures: number, random: () => number, serverMinimumMs = 0): number {
  const backoffMs = BASE_MS * 2 ** Math.min(failures - 1, 30) * (0.5 + random() / 2);
  return Math.max(serverMinimumMs, Math.min(law.capMs, Math.round(backoffMs)));
}
