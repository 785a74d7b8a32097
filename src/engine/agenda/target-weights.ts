import type { Part } from './parts.ts';
import { requestsForDelay, rootsOf } from './worth.ts';

/** A list that shares the request limit with others. */
export interface SharingList {
  readonly name: string;
  /** Empty where it is not known yet how the list changes. */
  readonly parts: readonly Part[];
  /** Its weight without a target. */
  readonly weight: number;
  /** The mean delay that is wanted, in hours; null where none is. */
  readonly target: number | null;
}

/** What a target takes. */
export interface Need {
  readonly name: string;
  /** Hours. */
  readonly target: number;
  readonly requestsAnHour: number;
  /** The mean delay, in hours, if the list gets what there is for it: the target, unless the limit does not allow that. */
  readonly reachable: number;
}

/** The share of the limit that targets may take together: other lists still get the rest. */
export const MOST_FOR_TARGETS = 0.9;

/**
 * The weights with which lists meet their targets. On B requests an hour, parts with rates r and costs c are read at intervals of
 * sqrt(c / r) / k, where k = B / sum(sqrt(r c)); with a weight w, the agenda reads them at sqrt(c / (w r)) / k. So a list that
 * needs the factor k1, where the others have k, has the weight (k1 / k)^2. Targets that need too much are scaled down together.
 */
export function weighTargets(
  lists: readonly SharingList[],
  hourlyLimit: number,
): { weights: Map<string, number>; needs: Need[] } {
  const wanted = lists.flatMap(({ name, parts, target, weight }) =>
    target === null || weight === 0 || parts.length === 0
      ? []
      : [{ name, target, roots: rootsOf(parts), requestsAnHour: requestsForDelay(parts, target) }],
  );
  const others = lists.filter(({ name }) => !wanted.some(each => each.name === name));
  const needed = sum(wanted.map(each => each.requestsAnHour));
  const scale = Math.min(1, (MOST_FOR_TARGETS * hourlyLimit) / Math.max(needed, Number.MIN_VALUE));
  const roots = sum(others.map(({ parts, weight }) => Math.sqrt(weight) * rootsOf(parts)));
  // Where all lists have targets, nothing is left to share, and only the ratios of their weights count.
  const factor = roots > 0 ? (hourlyLimit - scale * needed) / roots : 1;
  return {
    weights: new Map(wanted.map(each => [each.name, ((scale * each.requestsAnHour) / each.roots / factor) ** 2])),
    needs: wanted.map(({ name, target, requestsAnHour }) => ({
      name,
      target,
      requestsAnHour,
      reachable: target / scale,
    })),
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
