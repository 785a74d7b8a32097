import type { StreamParameters } from '../parameters.ts';
import type { Flow } from '../stream/flows.ts';
import { type Extent, massOf } from '../stream/places.ts';

/** A part of a list that one request reads. */
export interface Cell {
  /** Changes an hour. */
  readonly rate: number;
  /** Requests of one reading. */
  readonly cost: number;
}

export interface Optimum {
  /** Hours between two readings of each cell; infinite where nothing changes. */
  readonly intervals: readonly number[];
  /** Mean hours between a change and the reading that shows it. */
  readonly meanDelay: number;
}

/**
 * The static policy with the least mean delay for known rates. A cell read every T hours shows its changes after T / 2 on average, so
 * the mean delay is sum(rate * T / 2) / sum(rate), and the budget is sum(cost / T) = requests an hour. Lagrange: T is proportional to
 * sqrt(cost / rate), and the least mean delay is sum(sqrt(rate * cost))^2 / (2 * budget * sum(rate)).
 */
export function optimumOf(cells: readonly Cell[], requestsPerHour: number): Optimum {
  const roots = cells.reduce((sum, { rate, cost }) => sum + Math.sqrt(rate * cost), 0);
  const rates = cells.reduce((sum, { rate }) => sum + rate, 0);
  return {
    intervals: cells.map(({ rate, cost }) => (roots * Math.sqrt(cost / rate)) / requestsPerHour),
    meanDelay: roots ** 2 / (2 * requestsPerHour * rates),
  };
}

/** Changes an hour of the rows from position `from` to `to` (not included), counted from the newest end of their list. */
export function rateOf(
  flows: readonly Flow[],
  extent: Extent,
  ages: StreamParameters,
  { from, to }: { from: number; to: number },
): number {
  return flows.reduce((sum, { perHour, places }) => sum + perHour * massOf(places, extent, ages, from, to), 0);
}
