import { isContentKey } from '../../source/paging/row-key.ts';
import type { Strategy } from '../profile/strategy.ts';
import { provesRange, type Slice, sliceText } from '../slices/slice.ts';

/**
 * What readings claim of one stored row, each as of a moment (epoch ms). The row was *shown* before all of them: a later showing
 * voids them.
 */
export interface RowClaims {
  readonly key: string;
  /** Its stored value of the field that related rows share (`Strategy.relatedBy`); null where it has none. */
  readonly value: string | null;
  /** *lacks(slice, key)*: readings of a slice that should have shown the row, and did not. */
  readonly lacks: readonly Lack[];
  /** *denies(key)*: the row's own address answered that there is none. */
  readonly denied?: boolean;
  /** Readings of its slice that lacked it, where that is known. */
  readonly readings?: number | undefined;
  /** The list of its watched value, or the newest end, was not read since it went missing, and may show it; or the list's count may be it. */
  readonly unread?: boolean;
}

/** A reading of a slice that should have shown the row, and did not. */
export interface Lack {
  readonly slice: Slice;
  /** When the reading had ended: the row may have left the slice just before. */
  readonly at: number;
  /**
   * Records of the reading that could not be read: `new` ones were not there when the row was shown last, so one of them may be the
   * row.
   */
  readonly unreadable?: 'old' | 'new' | undefined;
  /** The reading lacked at least half of its slice. */
  readonly half?: boolean | undefined;
}

/** What readings claim of the list as a whole. */
export interface ListClaims {
  /** *covers(slice)*: every slice of the list was read again, as of this moment or later; null while one was never read. */
  readonly coveredSince: number | null;
  /** The unfiltered list was read as of this moment, as far as windows need it; null where they show all that it shows. */
  readonly unfilteredSince: number | null;
  /** *counts(n)*: how many rows the source counts, and how many would be left; null where it counts none. */
  readonly count: Count | null;
  /** *doubts*: one of the readings lacked half of its slice, and has not been confirmed yet. */
  readonly doubted?: boolean;
}

/** Nothing is claimed of the list as a whole. */
export const UNCOVERED: ListClaims = { coveredSince: null, unfilteredSince: null, count: null };

export interface Count {
  /** Rows the source counts after all slices were read. */
  readonly counted: number;
  /** What it counted before they were; as much as now if they are counted, together, like the list: it holds nothing else. */
  readonly countedBefore: number | null;
  /** Stored rows without those that are missing. */
  readonly left: number;
}

/** Whether the claims prove that the row was deleted at the source: the table of docs/coverage.md, line by line. */
export function isDeleted(row: RowClaims, list: ListClaims, strategy: Strategy): boolean {
  if (row.denied) return true;
  if (isContentKey(row.key)) return isReplaced(row, list);
  const lacks = withoutDoubt(row.lacks);
  if (lacks.length === 0) return false;
  switch (confirmationOf(row, strategy)) {
    case 'address':
      return false;
    case 'value':
      return !areHalf(row) && isLackedByRelated(row, lacks, strategy);
    case 'neighbours':
      return !row.unread && !areHalf(row) && lacks.length > 1 && lacks.at(-1)?.slice.by === 'id';
    case 'cover':
      return !row.unread && isLackedByCover({ ...row, lacks }, list) && countsNoMore(list, strategy);
  }
}

/** Its slice shows other content now, and the content is the key; nor does the unfiltered list show it, where a window may leave rows out. */
const isReplaced = ({ lacks }: RowClaims, { unfilteredSince }: ListClaims): boolean =>
  lacks.some(
    ({ slice, at, unreadable }) =>
      provesRange(slice) && unreadable !== 'new' && (unfilteredSince === null || at < unfilteredSince),
  );

/** The readings that cannot have shown the row as a record that could not be read. */
function withoutDoubt(lacks: readonly Lack[]): readonly Lack[] {
  const mayBeUnreadable = lacks.some(({ unreadable }) => unreadable === 'new');
  return lacks.filter(({ unreadable }) => unreadable === undefined || (unreadable === 'old' && !mayBeUnreadable));
}

/** How this row is confirmed: one without a related value (an invoice without a customer) can only be lacked by a whole cover. */
export const confirmationOf = ({ value }: Pick<RowClaims, 'value'>, { confirmation }: Strategy) =>
  confirmation === 'value' && value === null ? 'cover' : confirmation;

/**
 * The list of its related rows lacks it without a doubt, and another slice lacks it, too: a row that left only one of the two has
 * moved.
 */
function isLackedByRelated({ lacks, value }: RowClaims, undoubted: readonly Lack[], { relatedBy }: Strategy): boolean {
  if (relatedBy === null || value === null) return false;
  const related = sliceText({ by: 'value', field: relatedBy, value });
  const isRelated = ({ slice }: Lack) => sliceText(slice) === related;
  return undoubted.some(isRelated) && !lacks.every(isRelated);
}

/** Readings that must lack a row which went missing together with half of its slice, if they all lack half. */
export const READINGS_OF_HALF = 3;

/** Half of a slice at once is likelier a faulty answer, and there may be two of them. */
const isHalfInDoubt = (half: boolean | undefined, readings: number): boolean =>
  half === true && readings < READINGS_OF_HALF;

/** Both answers may be faulty: each lacked half of what it was to show. */
const areHalf = ({ lacks, readings = 1 }: RowClaims): boolean =>
  isHalfInDoubt(
    lacks.every(({ half }) => half),
    readings,
  );

/**
 * Whether a reading that lacked so many of a slice's stored rows lacked at least half of them, rounded down: an answer without every second
 * row lacks 37 of 75. `changed`: stored rows that are newer than the reading's beginning; they were not there to be lacked.
 */
export const lacksHalf = (
  lacked: number,
  { rows, changed }: { readonly rows: number; readonly changed: number },
): boolean => lacked > 0 && 2 * lacked + 1 >= rows - changed;

/** A missing row that only a cover confirms, and whose slice has to be read once more for that. */
export const isInDoubt = (
  { value, half, readings = 1 }: { readonly value: string | null; readonly half?: boolean; readonly readings?: number },
  strategy: Strategy,
): boolean => confirmationOf({ value }, strategy) === 'cover' && isHalfInDoubt(half, readings);

/** Every slice was read again since it went missing: the one that lacked it has lacked it again, and none of the others shows it. */
export function isLackedByCover(
  { lacks, readings = 1 }: Pick<RowClaims, 'lacks' | 'readings'>,
  { coveredSince, doubted = false }: ListClaims,
): boolean {
  const since = lacks[0]?.at;
  if (doubted || isHalfInDoubt(lacks[0]?.half, readings)) return false;
  return since !== undefined && coveredSince !== null && since < coveredSince;
}

/**
 * All windows may lack a row that is still there: it has no date, the date filter leaves it out, such as a draft, or it moved on before each reading.
 * So the list's count must be as before the cover, and not above the rows that would be left. `count` is null if nothing is counted.
 */
function countsNoMore({ count }: ListClaims, { partition }: Strategy): boolean {
  if (partition !== 'date' || count === null) return true;
  return count.counted === count.countedBefore && count.left >= count.counted;
}
