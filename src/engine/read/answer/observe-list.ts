import { stampMs } from '../../../clock.ts';
import { isAtStart, type Reading, type ReadingOutcome, type ReadPage } from '../../../source/paging/stable-reading.ts';
import type { Row } from '../../../warehouse/rows/write/row.ts';
import { observeWeight, type Weight } from '../../profile/answer-weight.ts';
import { observeCounts, observeValueCount } from '../../profile/counts.ts';
import { observeLongest } from '../../profile/list-end.ts';
import type { Observation } from '../../profile/observation.ts';
import { type AskedDays, isDistrust, observeDateFilter, observeValueFilter } from '../../profile/observe-filter.ts';
import { observeGrowth, pagingIgnored, UNTIL_EMPTY } from '../../profile/observe-page.ts';
import type { Resource } from '../../resource.ts';
import type { Day } from '../../slices/date-windows.ts';
import { type Slice, sliceText } from '../../slices/slice.ts';
import type { Task } from '../../task/task.ts';
import { isFiltered, type PageAnswer } from '../fetch/fetch-page.ts';
import { type PageReading, rowsShownLately } from '../plan-window.ts';
import { observeAnswer } from './observe-answer.ts';

/** Whether the filter obeys shows with the first rows; the first page may be empty. */
export const showsFirstRows = ({ pager }: Reading): boolean => pager.pass === 1 && pager.seen.size === 0;

/** What a page shows about the list. Pages after the second show nothing new. */
export function observeList(
  resource: Resource,
  plan: PageReading,
  answer: PageAnswer,
  given: { reading: Reading; read: ReadPage; first: PageAnswer | null; rows: readonly Row[] },
): readonly Observation[] {
  const { reading, read, first, rows } = given;
  const { repeatsFirst, news, pager } = read.taken;
  if (isAtStart(reading)) {
    const filter = observeFilter(resource, plan, rows);
    return [
      ...observeAnswer(resource, answer, { pages: pager.totalPages }),
      ...filter,
      // A filter that was not applied was not counted by either.
      ...(filter.some(isDistrust) ? [] : observeCount(resource, plan, answer)),
    ];
  }
  if (pager.pass > 1) return [];
  if (showsFirstRows(reading)) return observeFilter(resource, plan, rows);
  if (repeatsFirst) return showsLastPage(resource, plan, answer) ? [] : [pagingIgnored(answer)];
  if (pager.totalPages !== null || answer.page !== 2) return [];
  // Some of its rows once more, as a faulty answer shows them, are neither the end of a list nor all of it again.
  if (news === 0) return answer.rows.length === 0 ? [UNTIL_EMPTY] : [];
  return [
    ...observeGrowth(resource.profile, answer, news),
    ...observeAnswer(resource, answer, { pages: null, previous: first }),
  ];
}

/**
 * Past its end by any count, a list may show its last page again. Of what a filter leaves, that may be the first: it says nothing of a list that is known
 * to turn pages.
 */
const showsLastPage = ({ profile }: Resource, { query }: PageReading, { page, promised = page }: PageAnswer): boolean =>
  page > promised || (isFiltered(query) && profile.paging === 'until empty');

/** Windows whose counts are compared with each other. */
const WINDOWS_COMPARED = 40;

function observeCount(resource: Resource, { asked }: PageReading, { meta }: PageAnswer): Observation[] {
  if (asked === undefined || meta?.totalRecords === undefined) return [];
  const window = { asked, total: meta.totalRecords };
  const known = resource.countedWindows;
  resource.countedWindows = [...known, window].slice(-WINDOWS_COMPARED);
  return observeCounts(resource.profile, known, window);
}

/** The days that a window is asked for by; undefined for all time. */
export const daysAsked = ({ asked, query }: PageReading): AskedDays | undefined =>
  isFiltered(query) ? asked : undefined;

export const daysIn = ({ asked }: PageReading, rows: readonly Row[]): Day[] =>
  asked === undefined ? [] : rows.flatMap(({ values }) => values[asked.field] ?? []);

/** How long the reading of a window without a count became, and how heavy its answer was: it tells what the source shows at least. */
export function observeLength(
  task: Task,
  plan: PageReading,
  { outcome, reading }: ReadPage,
  weight: Weight | null,
): Observation[] {
  const asked = daysAsked(plan);
  const { totalPages, shown } = reading.pager;
  if (outcome === null || asked === undefined || totalPages !== null) return [];
  const { resource } = task;
  const at = stampMs(reading.startedAt as string);
  if (shown.size >= rowsShownLately(task, at)) resource.shownLately = { rows: shown.size, at };
  const { longest } = resource.profile;
  return [
    ...observeLongest(longest, asked.field, shown.size),
    ...(weight ? observeWeight(longest, asked.field, weight) : []),
  ];
}

/** The list of a value ended, or repeated its first page, before it had shown as many rows as its count. */
export function observeMiscount(
  resource: Resource,
  slice: Slice,
  meta: PageAnswer['meta'],
  outcome: ReadingOutcome | null,
): Observation[] {
  if (slice.by !== 'value' || meta?.totalRecords === undefined) return [];
  if (outcome?.kind !== 'count differs' && outcome?.kind !== 'capped') return [];
  const shown = outcome.kind === 'capped' ? outcome.rows : outcome.shown;
  return observeValueCount(resource.profile, sliceText(slice), { counted: meta.totalRecords, shown }, resource.total);
}

function observeFilter(resource: Resource, { slice, asked }: PageReading, rows: readonly Row[]): Observation[] {
  if (slice.by === 'value') return observeValueFilter(slice.field, slice.value, rows);
  return asked ? observeDateFilter(resource.profile, asked, rows) : [];
}
