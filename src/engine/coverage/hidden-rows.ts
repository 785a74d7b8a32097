import { countAgrees, doubtCounts, isUnreliable } from '../profile/counts.ts';
import { type ListEnd, UNKNOWN_END } from '../profile/list-end.ts';
import type { Observation } from '../profile/observation.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { overlap, parseSlice, type Slice, sliceText } from '../slices/slice.ts';
import { type List, newestEnd, oldestProof, partition, rowsProven } from './list.ts';
import { EMPTY } from './prove.ts';

/** How many rows are accounted for: stored ones without those that a whole cover has lacked, and records in quarantine without a row. */
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

/** What the task that judges the count has done. */
export interface JudgedBy {
  /** When it was asked for (epoch ms). */
  readonly since: number;
  readonly counted: Counted | null;
  readonly countAsked: boolean;
  /** As of when windows are counted, together, with as many rows as the list (epoch ms). */
  readonly windowsHoldAllAt: number | null;
  readonly countJudged: boolean;
}

/** Whether every slice was read since the source counted. */
export const isBeforeCover = (list: List, counted: Counted | null): boolean =>
  counted !== null && (oldestProof(list) ?? 0) >= counted.at;

/** Whether windows cover a list that the source counts, or may count: what they lack is deleted only once it was counted after them. */
export const countsAfterCover = ({ strategy, total }: List): boolean => strategy.partition === 'date' && total !== null;

/**
 * Whether all slices were read, so that the count of the source can show that rows lie in none of its windows, or between the pages of a list in the
 * order of ids. A count in doubt shows nothing of windows, and what is known already needs no proof. `missing`: rows that are missing.
 */
export function mayHideRows(list: List, missing = 0): boolean {
  const { strategy, profile, total } = list;
  if (isUnreliable(profile.counts) || partition(list).some(({ provenAt }) => provenAt === null)) return false;
  if (strategy.partition === 'date') return !isCountDoubted(profile) && !profile.hasUndated;
  return (
    strategy.partition === 'id' && total != null && (isCountDoubted(profile) || total > rowsProven(list) - missing)
  );
}

/** What is read to count the list again. Of ids, the end where rows are added, so that the count includes only rows that are known. */
export const countedBy = (list: List): Slice =>
  list.strategy.partition === 'id' ? newestEnd(list).slice : { by: 'newest' };

/**
 * Whether the slice whose count was in doubt has been proven by its count since, or the slices that it, or the whole list, was cut into. Until then,
 * it says why it is not proven. Ranges of ids are judged by the count of the list, see `hiddenRows`.
 */
export function settlesDoubt(list: List, read: Slice): boolean {
  const { doubtedCount } = list.profile;
  if (doubtedCount === null || read.by === 'id') return false;
  const doubted = parseSlice(doubtedCount);
  if (doubted.by === 'value') return sliceText(read) === doubtedCount;
  if (read.by !== list.strategy.partition) return false;
  return partition(list)
    .filter(({ slice }) => slice.by !== doubted.by || overlap(slice, doubted))
    .every(({ provenAt, dueReason }) => provenAt !== null && (dueReason === null || dueReason === EMPTY));
}

/**
 * Rows without a date lie in no window. When every window was read and the source still counts more rows than are accounted for, the count is
 * asked for again; if it is what it was before the windows were read, some rows have no date. Where it has changed, rows that came in the meantime
 * may make the difference: a later task finds out. Where windows are counted like the list, they hold the difference: those that seem to be empty
 * are due, and of others a later reading shows what came or moved. The count is also asked for before rows are deleted that all windows lack.
 */
export function hiddenRows(
  list: List,
  task: JudgedBy,
  accounted: Accounted,
): 'none' | 'ask again' | readonly Observation[] | { readonly due: readonly Entry[] } {
  if (list.strategy.partition === 'id') return hiddenBetweenIds(list, task, accounted);
  const rows = accounted.rows + accounted.quarantined - accounted.lackedByCover;
  const { total } = list;
  const isAccountedFor = total != null && total <= rows;
  const isSettled = (accounted.lackedByCover === 0 || total === null) && (isAccountedFor || task.counted === null);
  if (!task.countAsked) return isSettled ? 'none' : 'ask again';
  if (isAccountedFor) return 'none';
  const evidence = `the source counts ${total} rows, its date windows show ${rows}`;
  const { windowsHoldAllAt } = task;
  if (windowsHoldAllAt !== null) {
    const due = emptyWindows(list).filter(({ provenAt }) => (provenAt ?? 0) < windowsHoldAllAt);
    return due.length > 0 ? { due: due.map(entry => ({ ...entry, dueReason: evidence })) } : 'none';
  }
  if (total !== task.counted?.rows || !isBeforeCover(list, task.counted) || !mayHideRows(list)) return 'none';
  return [{ trait: 'undated', value: 'yes', evidence }];
}

/** Windows that never showed a row and were not read for long: while some sources are out of order, all seem to be empty. */
export const emptyWindows = (list: List): Entry[] => partition(list).filter(({ dueReason }) => dueReason === EMPTY);

/**
 * In the order of ids, a row that moves from one page to another while the list is read is shown by neither: then the end of the list is not where
 * it seemed to be. Where three tasks find that, the source counts rows that it does not show. Rows that are missing may be what it counts, until
 * all ranges were read again and lack them.
 */
function hiddenBetweenIds(
  list: List,
  { since, countAsked, countJudged }: JudgedBy,
  { rows, quarantined, missing, lackedByCover }: Accounted,
): 'none' | 'ask again' | readonly Observation[] {
  const { profile, total } = list;
  if (total == null) return 'none';
  if (total === rows + quarantined - missing) return settledByIds(list);
  const mostShown = rows + quarantined - lackedByCover;
  if (total <= mostShown) return 'none';
  if (!countAsked) return 'ask again';
  // Rows that came after the newest were read are new, not hidden.
  if ((newestEnd(list).provenAt ?? 0) < Math.max(...partition(list).map(({ provenAt }) => provenAt ?? 0)))
    return 'none';
  const evidence = `the source counts ${total} rows, its pages showed ${mostShown}`;
  const known = profile.end ?? { ...UNKNOWN_END, rows: mostShown, longest: mostShown, last: '' };
  const open = endWith({ ...known, verdict: 'open', counted: total }, evidence);
  // The list's own count is another than that of a value, or one that ignores the filter.
  if (!isOfList(profile)) return profile.end === null ? 'none' : [open];
  // A doubt takes a reading of all rows.
  const doubt =
    countJudged || (oldestProof(list) ?? 0) < since ? null : doubtCounts(profile, ALL_IDS, total - mostShown);
  return doubt === null ? [open] : [open, { ...doubt, evidence }];
}

/** The count agrees with the rows of all ranges, and they are proven: it was not wrong for good, and the list ends where it seemed to. */
function settledByIds(list: List): 'none' | readonly Observation[] {
  const { end } = list.profile;
  const isProven = partition(list).every(({ dueReason }) => dueReason === null);
  if (!isListCountDoubted(list) || !isProven) return 'none';
  const agrees = countAgrees(ALL_IDS);
  if (end?.verdict !== 'open' || end.suspect !== null) return [agrees];
  const { counted: _, ...known } = end;
  return [endWith({ ...known, verdict: 'agreed' }, agrees.evidence), agrees];
}

const endWith = (end: ListEnd, evidence: string): Observation => ({
  trait: 'end',
  value: JSON.stringify(end),
  evidence,
});

/** The count of a list in the order of ids may be wrong. */
export const isListCountDoubted = ({ strategy, profile }: Pick<List, 'strategy' | 'profile'>): boolean =>
  strategy.partition === 'id' && isCountDoubted(profile) && isOfList(profile);

const ALL_IDS = sliceText({ by: 'id', from: null, to: null });

type Profile = List['profile'];

const isCountDoubted = ({ counts }: Profile): boolean => counts === 'doubted once' || counts === 'doubted twice';

/** Nothing is known of the count but what concerns the list. */
const isOfList = ({ counts, doubtedCount }: Profile): boolean =>
  counts !== 'unfiltered' && (doubtedCount === null || parseSlice(doubtedCount).by !== 'value');
