import { DAY, HOUR, SECOND } from '../../clock.ts';

const SHORTEST_MS = 5 * SECOND;
const LONGEST_MS = HOUR;
/** How long a receiver may fail before it is paused; a server may not ask for a longer wait, either. */
export const MOST_FAILING_MS = DAY;
/** And how often: a service that was off for a weekend has not tried meanwhile. */
const LEAST_FAILURES = 10;

/** By Standard Webhooks: the receiver wants nothing more. */
const GONE = 410;

/** What follows a failed delivery: how long until the next attempt, or that there is none until somebody resumes it. */
export function afterFailure(failed: {
  /** Failures in a row, with this one. */
  readonly attempts: number;
  /** Since the first of them. */
  readonly failingForMs: number;
  readonly status: number | null;
  readonly retryAfterMs: number | null;
  /** From 0 to 1, so that processes and receivers do not try in step. */
  readonly random: number;
}): { readonly retryInMs: number } | 'pause' {
  const { attempts, failingForMs, status, retryAfterMs, random } = failed;
  if (status === GONE || (failingForMs >= MOST_FAILING_MS && attempts >= LEAST_FAILURES)) return 'pause';
  const backOffMs = Math.min(SHORTEST_MS * 2 ** (attempts - 1), LONGEST_MS);
  const ownMs = Math.max(backOffMs * (0.5 + random / 2), SHORTEST_MS);
  return { retryInMs: Math.max(ownMs, Math.min(retryAfterMs ?? 0, MOST_FAILING_MS)) };
}
