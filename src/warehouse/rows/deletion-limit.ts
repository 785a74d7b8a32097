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
  /** Rows stored now, with those that are missing. */
  readonly stored: number;
  /** Missing rows that went missing lately, or that few readings lacked. */
  readonly unsettled: number;
}

/** A list that shows less than half of its rows is believed after so many readings and hours. */
export const BELIEVED_AFTER = { readings: 3, hours: 24 } as const;

/**
 * Whether `count` rows may be deleted. All missing rows count, not only those: a source that suddenly shows less is more often faulty
 * than tidied up. Up to `accepted` rows may go in any case.
 */
export function withinDeletionLimit(
  { missing, lost, limit, stored, unsettled }: DeletionLimit,
  { count, accepted }: { count: number; accepted: number },
): boolean {
  if (count <= accepted) return true;
  const left = stored - Math.max(missing, count);
  // An outage that answers with less is no clean-up, however few rows the list has.
  const collapses = 2 * left < stored + lost;
  return lost + Math.max(missing, count) <= limit && !(collapses && unsettled > 0);
}
