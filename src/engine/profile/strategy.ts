import { type Job, slicingOf } from '../job.ts';
import { lengthInDays } from '../slices/date-windows.ts';
import type { DateSlice, Slice } from '../slices/slice.ts';
import { isUnreliable } from './counts.ts';
import { isIdOrder } from './list-end.ts';
import type { Edge } from './observation.ts';
import { sortKeys } from './observe-order.ts';
import type { SourceProfile } from './source-profile.ts';

/** How one list is read, and what proves that a row was deleted: all that follows from its job and its profile. */
export interface Strategy {
  /** What cuts the list into the slices that together prove it: its dates, its ids, or nothing. */
  readonly partition: 'date' | 'id' | 'whole';
  /** What tells which rows lie in a date window: their date, or the windows that returned them. */
  readonly membership: 'date' | 'window';
  readonly confirmation: Confirmation;
  /** The field by whose value the list can be asked for a row and its like (an invoice's customer); null where there is none. */
  readonly relatedBy: string | null;
  /** Edges at which a window is asked for by just its days, because the source includes them. */
  readonly inclusiveEdges: readonly Edge[];
  /** A window that is open on one side is asked for with both dates. */
  readonly closesWindows: boolean;
  /** Slices read at every sync and slot, and as questions in between: the newest end, and the values that the job watches. */
  readonly watched: readonly Slice[];
  /** One unfiltered answer shows every row, whatever the windows lack. */
  readonly oneAnswerShowsAll: boolean;
}

/**
 * The question whose answer proves that a missing row was deleted.
 * - `address`: the row's own address answers 404.
 * - `value`: the list of the rows with the same value of `relatedBy` lacks it, too.
 * - `neighbours`: a second answer for the ids around it lacks it, too.
 * - `cover`: every slice was read again since.
 */
export type Confirmation = 'address' | 'value' | 'neighbours' | 'cover';

export function strategyFor(profile: SourceProfile, job: Job): Strategy {
  const partition = partitionFor(profile, job);
  const membership = partition === 'date' && profile.hidesDates ? 'window' : 'date';
  return {
    partition,
    membership,
    confirmation: confirmationFor(profile, job, partition),
    relatedBy: relatedBy(profile, job),
    // A row without a date belongs to the question that returned it, so that question never changes.
    inclusiveEdges: membership === 'window' ? [] : inclusiveEdges(profile),
    // Where rows do not show their date, nothing would reveal that one date alone is ignored.
    closesWindows: profile.needsBothDates || profile.hidesDates,
    watched: watchedFor(profile, job, partition),
    oneAnswerShowsAll: isSingleBody(profile) && profile.oneAnswer !== 'cut' && partition === 'date',
  };
}

/** A window of so many days costs little more when it is asked for a day wider on both sides. */
const LONG_DAYS = 28;

/** The edges at which this window is asked for by just its days. `costly`: those where a day more costs much. */
export const narrowEdges = (
  { inclusiveEdges }: Strategy,
  window: DateSlice,
  costly: readonly Edge[] = [],
): readonly Edge[] =>
  lengthInDays(window) >= LONG_DAYS ? inclusiveEdges.filter(edge => costly.includes(edge)) : inclusiveEdges;

/** The slice is the list of the rows that share a related value, such as the invoices of a customer. */
export const showsRelated = ({ relatedBy }: Strategy, slice: Slice): slice is Extract<Slice, { by: 'value' }> =>
  slice.by === 'value' && slice.field === relatedBy;

/** The list turns no pages: one answer is all it shows. */
export const isSingleBody = ({ paging }: SourceProfile): boolean => paging === 'ignored';

export const isIdOrdered = ({ order }: SourceProfile): boolean => isIdOrder(order);

/** Pages can neither overlap nor be counted, so nothing shows a row that slips from one to the next. */
export const mayLeaveGaps = ({ limit, paging }: SourceProfile): boolean =>
  limit === 'ignored' && paging === 'until empty';

function partitionFor(profile: SourceProfile, job: Job): Strategy['partition'] {
  const hasDates = slicingOf(job, 'date') !== undefined;
  // Rows without a date lie in no window; but where one answer may be cut short, windows show more than anything else.
  const showsAll = profile.oneAnswer === 'complete' && profile.end?.verdict !== 'cut';
  const escapeWindows = profile.hasUndated && (!isSingleBody(profile) || showsAll);
  const windows = hasDates && !profile.ignoresDates && !escapeWindows;
  if (windows && !profile.hidesDates) return 'date';
  const mayHaveIds = slicingOf(job, 'id') !== undefined || hasDates;
  const mayBeOrdered = profile.order === null || isIdOrdered(profile);
  if (mayHaveIds && mayBeOrdered && !isSingleBody(profile) && !mayLeaveGaps(profile)) return 'id';
  return windows ? 'date' : 'whole';
}

function confirmationFor(profile: SourceProfile, job: Job, partition: Strategy['partition']): Confirmation {
  if (slicingOf(job, 'one') && !profile.hidesDeletion) return 'address';
  if (relatedBy(profile, job) !== null) return 'value';
  const showsIds = profile.ids !== 'no' && !isSingleBody(profile) && !mayLeaveGaps(profile);
  // Where nothing counts the list, a row may have another place in it by what it does not show, such as one that people drag.
  const isCounted =
    (profile.paging !== 'until empty' || profile.counts === 'unfiltered') && !isUnreliable(profile.counts);
  // What the windows of a list show may lie behind the end of the list itself.
  const showsEnd = partition !== 'date' || profile.end === null || profile.end.verdict === 'agreed';
  return isOrderedByIdOnly(profile, job) && showsIds && showsEnd && isCounted ? 'neighbours' : 'cover';
}

/** No edit moves a row out of the order of ids: neither the moment of the edit nor the value of any field gives it another place. */
const isOrderedByIdOnly = (profile: SourceProfile, job: Job): boolean =>
  isIdOrdered(profile) &&
  profile.editsInPlace &&
  sortKeys(profile, job).every(field => profile.notOrderedBy.has(field));

function relatedBy({ ignoredFilters }: SourceProfile, job: Job): string | null {
  for (const slicing of job.slicings)
    if (slicing.by === 'value' && slicing.watch.length === 0 && !ignoredFilters.has(slicing.field))
      return slicing.field;
  return null;
}

const inclusiveEdges = ({ dateFrom, dateTo }: SourceProfile): Edge[] => [
  ...(dateFrom === 'inclusive' ? (['date from'] as const) : []),
  ...(dateTo === 'inclusive' ? (['date to'] as const) : []),
];

function watchedFor({ ignoredFilters }: SourceProfile, job: Job, partition: Strategy['partition']): Slice[] {
  const slices: Slice[] = partition === 'id' ? [] : [{ by: 'newest' }];
  for (const slicing of job.slicings) {
    if (slicing.by !== 'value' || ignoredFilters.has(slicing.field)) continue;
    for (const value of slicing.watch) slices.push({ by: 'value', field: slicing.field, value });
  }
  return slices;
}
