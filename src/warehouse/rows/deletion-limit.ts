/** In any 24 hours a resource may lose this many rows: a tenth of them, and at least 20. */
export function deletionLimitOf(rows: number): number {
  return Math.max(20, Math.floor(rows / 10));
}

/** The state of a resource's deletion limit. */
export interface DeletionLimit {
  /** Rows missing now. */
  readonly missing: number;
  /** Rows deleted in the last 24 hours, without accepted ones. */
  readonly lost: number;
  /** The most that `missing` and `lost` may be together. */
  readonly limit: number;
}

/**
 * Whether `count` rows may be deleted. All missing rows count, not only those: a source that suddenly shows less is more often faulty
 * than tidied up. Up to `accepted` rows may go in any case.
 */
export function withinDeletionLimit(
  { missing, lost, limit }: DeletionLimit,
  { count, accepted }: { count: number; accepted: number },
): boolean {
  return lost + Math.max(missing, count) <= limit || count <= accepted;
}
