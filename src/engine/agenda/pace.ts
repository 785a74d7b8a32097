/**
 * Spreads requests evenly over time. A pace holds a few requests that were not spent, so that an answer that takes long loses none, and
 * no more than that, so that none come in a burst.
 */
export interface Pace {
  /** Requests that may be sent at once; below 0 after one that took more requests than there were. */
  readonly saved: number;
  /** As of when (epoch ms). */
  readonly at: number;
}

export interface PaceRule {
  /** Requests a millisecond. */
  readonly rate: number;
  /** The most that may be saved. */
  readonly most: number;
}

export const startPace = (at: number): Pace => ({ saved: 0, at });

/** A clock that was put back adds nothing. */
export function refill({ saved, at }: Pace, now: number, { rate, most }: PaceRule): Pace {
  const more = Math.max(now - at, 0) * rate;
  return { saved: Math.min(saved + more, most), at: now };
}

export const spend = (pace: Pace, requests: number): Pace => ({ ...pace, saved: pace.saved - requests });

/** Milliseconds until one request may be sent; 0 if one may be now. */
export const waitFor = ({ saved }: Pace, { rate }: PaceRule): number =>
  saved >= 1 ? 0 : rate > 0 ? Math.ceil((1 - saved) / rate) : Number.POSITIVE_INFINITY;
