import type { Observation } from '../profile/observation.ts';
import { overlap, parseSlice, type Slice, sliceText } from '../slices/slice.ts';
import { type List, oldestProof, partition, rowsProven } from './list.ts';

/** How many rows are accounted for: stored ones without those that a whole cover lacks, and records in quarantine without a row. */
export interface Accounted {
  readonly rows: number;
  readonly quarantined: number;
  readonly lackedByCover: number;
  /** Stored rows that are missing, whatever may confirm that they were deleted. */
  readonly missing: number;
}

/** How many rows the source counted, and when (epoch ms). */
export interface Counted {
  readonly rows: number;
  readonly at: number;
}

/** Whether every slice was read since the source counted. */
export const isBeforeCover = (list: List, counted: Counted | null): boolean =>
  counted !== null && (oldestProof(list) ?? 0) >= counted.at;

/** Whether windows cover a list that the source counts, or may count: what they lack is deleted only once it was counted after them. */
export const countsAfterCover = ({ strategy, total }: List): boolean => strategy.partition === 'date' && total !== null;

/**
 * Whether all slices were read, so that the count of the source can show that rows lie in none of its windows, or between the pages of a list in the
 * order of ids. A count in doubt shows nothing, and what is known already needs no proof.
 */
export function mayHideRows(list: List): boolean {
  const { strategy, profile, total } = list;
  if (profile.counts !== null && profile.counts !== 'unfiltered') return false;
  const isOpen =
    strategy.partition === 'date'
      ? !profile.hasUndated
      : strategy.partition === 'id' && total != null && total > rowsProven(list);
  return isOpen && partition(list).every(entry => entry.provenAt !== null);
}

/**
 * Whether the slice whose count was in doubt has been proven by its count since, or the slices that it was cut into. Until then, it says why it is
 * not proven; a range of ids is proven whatever the source counts.
 */
export function settlesDoubt(list: List, read: Slice): boolean {
  const { doubtedCount } = list.profile;
  if (doubtedCount === null || read.by === 'id') return false;
  if (read.by === 'value') return sliceText(read) === doubtedCount;
  const doubted = parseSlice(doubtedCount);
  if (read.by !== doubted.by) return false;
  return partition(list)
    .filter(({ slice }) => overlap(slice, doubted))
    .every(({ provenAt, dueReason }) => provenAt !== null && dueReason === null);
}

/**
 * In the order of ids, a row that moves from one page to another while the list is read is shown by neither: then the end of the list is not where
 * it seemed to be.
 *
 * Rows without a date lie in no window. When every window was read and the source still counts more rows than are accounted for, the count is
 * asked for again; if it is what it was before the windows were read, some rows have no date. Where it has changed, rows that came in the
 * meantime may make the difference: a later task finds out. It is also asked for before rows are deleted that all windows lack.
 */
export function hiddenRows(
  list: List,
  task: { readonly counted: Counted | null; readonly countAsked: boolean },
  accounted: Accounted,
): 'none' | 'ask again' | Observation {
  const isById = list.strategy.partition === 'id';
  const rows = accounted.rows + accounted.quarantined - (isById ? accounted.missing : accounted.lackedByCover);
  const { total } = list;
  const isAccountedFor = total != null && total <= rows;
  if (isById) {
    if (isAccountedFor || total == null) return 'none';
    const { end } = list.profile;
    const evidence = `the source counts ${total} rows, its pages showed ${rows}`;
    if (!task.countAsked) return 'ask again';
    return end === null ? 'none' : { trait: 'end', value: JSON.stringify({ ...end, verdict: 'open' }), evidence };
  }
  const isSettled = (accounted.lackedByCover === 0 || total === null) && (isAccountedFor || task.counted === null);
  if (!task.countAsked) return isSettled ? 'none' : 'ask again';
  if (isAccountedFor || total !== task.counted?.rows || !isBeforeCover(list, task.counted) || !mayHideRows(list))
    return 'none';
  const evidence = `the source counts ${total} rows, its date windows show ${rows}`;
  return { trait: 'undated', value: 'yes', evidence };
}
