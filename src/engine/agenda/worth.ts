/**
 * What asking is worth. The sum of delays between a change and its arrival, on a fixed number of requests, is least when the time between
 * two readings of a slice is proportional to the square root of cost over change rate (Sia, Cho and Cho 2007, Efficient
 * monitoring algorithm for fast news alerts). As a greedy rule, that is: ask next where `rate * age^2 / requests` is greatest.
 */

/** Something that can be asked, as far as its worth goes. */
export interface Asking {
  /** Changes an hour that the answer shows. */
  readonly rate: number;
  /** Hours since it was last answered. */
  readonly age: number;
  /** Requests that it takes, with those of readings that it leads to. */
  readonly requests: number;
  /** Changes that are known to wait there, or are likely to, and the hours since then. */
  readonly waiting?: { readonly changes: number; readonly hours: number };
}

/**
 * The score by which the agenda chooses. A change that is known to wait counts as one for the hours that it has waited: such a
 * question comes soon, whatever the rate, and does not keep others away if the answer never settles it.
 */
export const scoreOf = ({ rate, age, requests, waiting }: Asking): number =>
  (rate * age * age + (waiting ? 2 * waiting.changes * waiting.hours : 0)) / Math.max(requests, 1);

/** A part of a list: changes an hour, and requests to read it. */
export interface Part {
  readonly rate: number;
  readonly requests: number;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** How much the parts need: requests an hour spent on them, times the mean delay in hours, times their rate. */
const need = (parts: readonly Part[]): number => {
  const roots = sum(parts.map(({ rate, requests }) => Math.sqrt(rate * requests)));
  return (roots * roots) / 2;
};

/** Mean hours until a change of these parts arrives, if so many requests an hour are spent on them in the best way. */
export function expectedDelay(parts: readonly Part[], requestsAnHour: number): number {
  const rate = sum(parts.map(part => part.rate));
  return rate === 0 ? 0 : need(parts) / (rate * requestsAnHour);
}

/** Requests an hour after which a change of these parts arrives within `hours` on average. */
export function requestsFor(parts: readonly Part[], hours: number): number {
  const rate = sum(parts.map(part => part.rate));
  return rate === 0 ? 0 : need(parts) / (rate * hours);
}

/**
 * Hours within which the given share (0 to 1) of all changes arrive, where each part is read every `interval` hours: the delay of its
 * changes is anything between none and the interval.
 */
export function delayQuantile(
  parts: readonly { readonly rate: number; readonly interval: number }[],
  share: number,
): number {
  const rate = sum(parts.map(part => part.rate));
  if (rate === 0) return 0;
  const arrived = (hours: number) =>
    sum(parts.map(({ rate, interval }) => (interval <= hours ? rate : (rate * hours) / interval))) / rate;
  let low = 0;
  let high = Math.max(...parts.map(({ interval }) => interval));
  for (let step = 0; step < 50; step++) {
    const middle = (low + high) / 2;
    if (arrived(middle) < share) low = middle;
    else high = middle;
  }
  return high;
}
