import type { Choice } from './choice.ts';

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

/** A question before it is compared with others. */
export interface Unscored extends Asking {
  readonly choice: Choice;
  /** Default: where its age is more than the agenda allows. */
  readonly overdue?: boolean;
  readonly why: string;
}

/**
 * The score by which the agenda chooses. A change that is known to wait counts as one for the hours that it has waited: such a
 * question comes soon, whatever the rate, and does not keep others away if the answer never settles it.
 */
export const scoreOf = ({ rate, age, requests, waiting }: Asking): number =>
  (rate * age * age + (waiting ? 2 * waiting.changes * waiting.hours : 0)) / Math.max(requests, 1);

/** The one that goes before all others; of equals, the first. */
export function firstOf<T>(each: readonly T[], goesBefore: (a: T, b: T) => boolean): T | undefined {
  let [first] = each;
  for (const one of each) if (goesBefore(one, first as T)) first = one;
  return first;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** The sum of sqrt(rate * requests): what parts need, whatever the requests that are spent on them. */
export const rootsOf = (parts: readonly Pick<Asking, 'rate' | 'requests'>[]): number =>
  sum(parts.map(({ rate, requests }) => Math.sqrt(rate * requests)));

/** Requests an hour after which a change of these parts arrives within `hours` on average, if they are spent in the best way. */
export function requestsForDelay(parts: readonly Pick<Asking, 'rate' | 'requests'>[], hours: number): number {
  const rate = sum(parts.map(part => part.rate));
  return rate === 0 ? 0 : rootsOf(parts) ** 2 / (2 * rate * hours);
}
