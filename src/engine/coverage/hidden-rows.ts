import { countAgrees, doubtCounts, isUnreliable } from '../profile/counts.ts';
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
 * order of ids. What is known already needs no proof. A count in doubt shows nothing of windows; ranges of ids are proven whatever is counted, so
 * that only the rows of all of them tell whether it is wrong.
 */
export function mayHideRows(list: List): boolean {
  const { strategy, profile, total } = list;
  if (isUnreliable(profile.counts) || partition(list).some(({ provenAt }) => provenAt === null)) return false;
  if (strategy.partition === 'date') return !isInDoubt(profile) && !profile.hasUndated;
  return strategy.partition === 'id' && total != null && (isInDoubt(profile) || total > rowsProven(list));
}

/**
 * Whether the slice whose count was in doubt has been proven by its count since, or the slices that it was cut into. Until then, it says why it is
 * not proven.
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
 * it seemed to be. Where task after task finds that, the source counts rows that it does not show.
 *
 * Rows without a date lie in no window. When every window was read and the source still counts more rows than are accounted for, the count is
 * asked for again; if it is what it was before the windows were read, some rows have no date. Where it has changed, rows that came in the
 * meantime may make the difference: a later task finds out. It is also asked for before rows are deleted that all windows lack.
 */
export function hiddenRows(
  list: List,
  task: { readonly counted: Counted | null; readonly countAsked: boolean },
  accounted: Accounted,
): 'none' | 'ask again' | readonly Observation[] {
  const isById = list.strategy.partition === 'id';
  const rows = accounted.rows + accounted.quarantined - (isById ? accounted.missing : accounted.lackedByCover);
  const { total } = list;
  const isAccountedFor = total != null && total <= rows;
  if (isById) {
    if (total == null) return 'none';
    if (isAccountedFor) return settledById(list);
    return task.countAsked ? miscountedById(list, total, rows) : 'ask again';
  }
  const isSettled = (accounted.lackedByCover === 0 || total === null) && (isAccountedFor || task.counted === null);
  if (!task.countAsked) return isSettled ? 'none' : 'ask again';
  if (isAccountedFor || total !== task.counted?.rows || !isBeforeCover(list, task.counted) || !mayHideRows(list))
    return 'none';
  const evidence = `the source counts ${total} rows, its date windows show ${rows}`;
  return [{ trait: 'undated', value: 'yes', evidence }];
}

/** The count agrees with the rows of all ranges, and they are proven: it was not wrong for good. The list of one value has another. */
function settledById(list: List): 'none' | readonly Observation[] {
  const { doubtedCount } = list.profile;
  const isOfValue = doubtedCount !== null && parseSlice(doubtedCount).by === 'value';
  const isProven = partition(list).every(({ dueReason }) => dueReason === null);
  return isInDoubt(list.profile) && !isOfValue && isProven ? [countAgrees(ALL_IDS)] : 'none';
}

function miscountedById({ profile }: List, total: number, rows: number): readonly Observation[] {
  const doubt = doubtCounts(profile, ALL_IDS, total - rows);
  if (doubt === null) return [];
  const evidence = `the source counts ${total} rows, its pages showed ${rows}`;
  // A count that is no longer used says nothing of the end either.
  if (profile.end === null || isUnreliable(doubt.value)) return [{ ...doubt, evidence }];
  return [
    { trait: 'end', value: JSON.stringify({ ...profile.end, verdict: 'open' }), evidence },
    { ...doubt, evidence },
  ];
}

const ALL_IDS = sliceText({ by: 'id', from: null, to: null });

/** The count has been wrong, and may be again. */
const isInDoubt = ({ counts }: List['profile']): boolean => counts !== null && counts !== 'unfiltered';
