/** How the requests that count stop counting, if no more are sent. */
export interface Forecast {
  readonly windowMs: number;
  /** Requests that may be sent now. */
  readonly free: number;
  /** Requests that stop counting in each of the `STEPS` equal parts of the window, the first part first. */
  readonly ending: readonly number[];
}

/** Parts of the window that a forecast tells apart: two minutes of an hour. */
export const STEPS = 30;

/** The forecast of a key of which nothing was used. */
export const wholeLimit = (limit: number, windowMs: number): Forecast => ({
  windowMs,
  free: limit,
  ending: Array.from({ length: STEPS }, () => 0),
});

/**
 * Requests a millisecond that can be sent from now on, with at least `kept` of the limit left at each step. After a burst, what is left
 * lasts until the burst stops counting.
 */
export function lastingRate({ free, ending, windowMs }: Forecast, kept: number): number {
  let left = free - kept;
  let rate = Number.POSITIVE_INFINITY;
  for (const [step, requests] of ending.entries()) {
    left += requests;
    rate = Math.min(rate, (left * ending.length) / ((step + 1) * windowMs));
  }
  return Math.max(rate, 0);
}
