/** What may be lost of a list in 24 hours: of its rows, of the values of a column, or of the rows of a child table. */
export interface LossLimit {
  /** What the source shows no longer and is kept, since it is not proven or not allowed to be lost. */
  readonly held: number;
  /** Lost in the last 24 hours, without what somebody accepted. */
  readonly lost: number;
  /** The most that `held` and `lost` may be together. */
  readonly limit: number;
}

/** In any 24 hours so many of `stored` may be lost: a tenth, and at least 20. */
export const lossLimitOf = (stored: number): number => Math.max(20, Math.floor(stored / 10));

/**
 * Whether `count` may be lost. All that is held counts, not only those: a source that suddenly shows less is more often faulty than tidied
 * up. Up to `accepted` may go in any case. `collapses`: what is left would be less than what goes.
 */
export const withinLossLimit = (
  { held, lost, limit }: LossLimit,
  { count, accepted, collapses }: { count: number; accepted: number; collapses: boolean },
): boolean => count <= accepted || (lost + Math.max(held, count) <= limit && !collapses);

/** Whether a value holds nothing. One that a record leaves out, and that therefore stays as it is stored, does. */
export const isEmpty = (value: string | null | undefined): boolean => value === null || value === '';
