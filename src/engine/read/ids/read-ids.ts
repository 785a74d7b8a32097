import type { Database } from '../../../warehouse/database/database.ts';
import { rankOf, readStoredAt } from '../../../warehouse/rows/stored-rows.ts';
import { pageSize } from '../../coverage/list.ts';
import type { Observation } from '../../profile/observation.ts';
import { observePageSize, pagingIgnored, turnsPages } from '../../profile/observe-page.ts';
import { openAtLast } from '../../slices/id-ranges.ts';
import type { IdSlice } from '../../slices/slice.ts';
import type { Task } from '../../task/task.ts';
import { mayBeCut } from '../answer/observe-answer.ts';
import { confirmEnd, fetchBehind, lookBehind } from '../fetch/confirm-end.ts';
import { fetchInOrder, inTurn } from '../fetch/fetch-in-order.ts';
import {
  fetchPage,
  firstLimit,
  fullPage,
  type ListQuery,
  type PageAnswer,
  type Reader,
  withoutWaiting,
} from '../fetch/fetch-page.ts';
import { fetchFirstPage } from '../fetch/first-page.ts';
import type { Step } from '../step.ts';
import {
  addressesBehind,
  addressOf,
  afterPage,
  missOf,
  offsetAfter,
  type PageAddress,
  type Search,
} from './locate-range.ts';
import { beginsBehind, exceedsCount, mayBeLast, type Place, reachesEnd } from './place-page.ts';
import { idOf, type PlacedAnswer, placeAnswer, stepOf } from './placed-answer.ts';

/** Two rows of a list that has more: a source that keeps to a page size of its own returns more. */
const PROBE = { page: 1, limit: 2, flexible: false } as const;

interface RangeReading {
  readonly question: ListQuery;
  readonly task: Task;
  readonly range: IdSlice;
  readonly isDescending: boolean;
  /** Rows stored before this id in the order of the list. */
  readonly rank: (id: bigint) => Promise<number>;
  /** Rows stored behind it. */
  readonly behind: (id: bigint) => Promise<number>;
  /** How many of them are stored. */
  readonly stored: (ids: readonly bigint[]) => Promise<number>;
}

/**
 * Reads a range of a list ordered by id, in at most `most` answers from its start in the order of the list. A page is only an
 * address: each answer proves the interval between its first and last id, whatever was asked for. Answers overlap by one row;
 * where they do not, because rows before were deleted, the gap between them stays unproven and is read later.
 */
export async function* readIds(
  reader: Reader,
  database: Database,
  task: Task,
  range: IdSlice,
  most: number,
): AsyncGenerator<Step> {
  const { resource } = task;
  const isDescending = resource.profile.order !== 'id-asc';
  const question: ListQuery = { reader, task, slice: range, query: {} };
  const begun: RangeReading = {
    question,
    task,
    range,
    isDescending,
    rank: id => rankOf(database.kysely, resource.table, id, isDescending),
    behind: id => rankOf(database.kysely, resource.table, id, !isDescending),
    stored: async ids => (await readStoredAt(database.kysely, resource.table, ids.map(String))).length,
  };
  const place = await startSearch(begun);
  const { offset, size } = place;
  const answers = await reader.recall(resource, range, {}, { from: offset - size, to: offset + most * size });
  const reading: RangeReading = { ...begun, question: { ...question, known: answers } };
  // One that begins with the range needs no row before it: where that row is gone, the answer begins behind it and leaves a gap.
  const isFirst = answers?.showing(offset + 1, 0)?.keys[0] === String(place.start);
  const search: Search = { ...place, known: answers?.showing, offset: isFirst ? offset + 1 : offset };
  const { paging, limit } = resource.profile;
  // Where pages are not counted they have to overlap: whether they can is found out first.
  if (search.offset > 0 && paging === 'until empty' && limit === null) {
    const shown = await fetchPage(reading.question, { ...PROBE, usual: search.size });
    const probe = shown.rows.length === 0 ? await lookBehind(reading.question, shown) : shown;
    const { rows, requests, release, thinned } = probe;
    const more = rows.length === PROBE.limit ? [LIMIT_HONOURED] : [];
    // Rows are stored, and one empty answer shows nothing of them.
    yield rows.length === 0 && !thinned
      ? { resource, task, slice: range, rows: [], bad: [], requests, release }
      : stepOf(reading, placeAnswer(resource, probe), { previous: null, before: 0, more });
    if (rows.length > PROBE.limit || thinned) return;
  }
  const found = yield* findStart(reading, search);
  if (found === null || reachesEnd(found.place, range, isDescending)) return;
  if (mayBeLast(found.place, found.page)) yield await readBehind(reading, found);
  else yield* readOn(reading, found, most);
}

/** The first id of the range in the order of the list; null where it begins with the list. */
const startOf = ({ range, isDescending }: Pick<RangeReading, 'range' | 'isDescending'>): bigint | null =>
  isDescending ? range.to : range.from;

async function startSearch({ question, task, range, isDescending, rank }: RangeReading): Promise<Search> {
  const { resource } = task;
  const { reader } = question;
  const { profile } = resource;
  const start = startOf({ range, isDescending });
  const isFixed = profile.limit === 'ignored';
  const isSized = reader.pageSize !== 'auto' || profile.pageSize !== null;
  const limit = firstLimit(reader, resource);
  // Addresses count by the pages that the source turns, whatever is asked for.
  const known = pageSize(resource, limit);
  const size = isFixed ? known : Math.min(limit, known);
  // The row before the range is asked for too: it closes the gap to the neighbour's answer. While the page size is unknown, only
  // the first page has a known place.
  const isKnownPlace = start !== null && profile.order !== null && isSized;
  const offset = isKnownPlace ? Math.max((await rank(start)) - 1, 0) : 0;
  const pastEnd = Number.POSITIVE_INFINITY;
  return { start, isDescending, size, limit, isSized, offset, isFixed, corrections: 0, previous: null, pastEnd };
}

type Found = PlacedAnswer & { readonly isFixed: boolean };

/** Asks for pages until one holds the start of the range; null where that is in vain. */
async function* findStart(reading: RangeReading, begun: Search): AsyncGenerator<Step, Found | null> {
  const { question, task, rank } = reading;
  let shown: PageAnswer | null = null;
  // The list may have become shorter since its rows were stored: a refused page, like an empty one, only shortens the search.
  const emptyAsOf = new Date(task.since).toISOString();
  const before = begun.offset + 1;
  for (let search = begun; ; ) {
    const isFirst = search.corrections === 0;
    const address = addressOf(search);
    const came =
      isFirst && address.page === 1
        ? await fetchFirstPage(question, address.limit)
        : await fetchPage(question, { ...address, flexible: isFirst, usual: search.size, emptyAsOf });
    const answer = came.rows.length === 0 ? await lookBehind(question, came) : came;
    const placed = await confirmLast(reading, placeAnswer(reading.task.resource, answer));
    const { place, page } = placed;
    if (shown !== null && repeats(shown, answer) && (await isTop(reading, place))) {
      yield { ...stepOf(reading, placed, { previous: null, before }), learnt: [pagingIgnored(answer, shown.page)] };
      return null;
    }
    shown = answer;
    if (answer.refused === 'fewer') search = { ...search, isFixed: true };
    const miss = missOf(search, place, page);
    const between = miss && 'between' in miss ? miss.between : null;
    const rowsBetween = between ? Math.abs((await rank(between[0])) - (await rank(between[1]))) : 0;
    const offset = offsetAfter(search, place, miss, rowsBetween);
    yield stepOf(reading, placed, { previous: null, before });
    const isLimitHonoured = task.resource.profile.limit === 'honoured';
    const next = afterPage(search, place, page, { offset, isLimitHonoured });
    if (next.kind === 'stop' || answer.thinned) return null;
    if (next.kind === 'found') return { ...placed, isFixed: search.isFixed };
    search = next.search;
  }
}

/** Without a count, neither a short page shows that the list ends, nor a long one that the list ignores pages; the next page does. */
async function readBehind(reading: RangeReading, found: PlacedAnswer): Promise<Step> {
  const { question, task, range } = reading;
  const { answer, place } = found;
  const { resource } = task;
  const before = place.lastOffset + 1;
  const next = await fetchPage(question, {
    ...{ page: answer.page + 1, limit: answer.limit },
    ...{ flexible: false, emptyAsOf: answer.grantedAt },
  });
  const behind = await unlessFirstAgain(reading, { found, previous: found }, await confirmEnd(question, answer, next));
  // The only page of a list comes again where a source repeats its last page, and where it ignores pages and cuts its answer off.
  const isSingle = answer.page === 1 && (answer.rows.length > answer.limit || mayBeCut(resource, answer, range));
  const isAgain = behind.rows.length > 0 && !turnsPages(resource.job.key, answer, behind);
  if (isAgain && (isSingle || (await isTop(reading, place))))
    return {
      ...stepOf(reading, placeAnswer(reading.task.resource, behind), { previous: null, before }),
      learnt: [pagingIgnored(behind, answer.page)],
    };
  return stepOf(reading, placeAnswer(reading.task.resource, behind, null, found), { previous: answer, before });
}

/** Reads the pages behind the start of the range, side by side; at least one where the range begins behind the page that was found. */
async function* readOn(reading: RangeReading, found: Found, most: number): AsyncGenerator<Step> {
  const { question, range, isDescending } = reading;
  const { isFixed } = found;
  const further = Math.max(most - 1, isFixed || beginsBehind(found.place, startOf(reading), isDescending) ? 1 : 0);
  if (further === 0) return;
  const rows = Math.max(Math.min(found.page.rows, found.page.limit), 1);
  const isAboveCount = exceedsCount(found.page, found.place);
  const addresses = addressesBehind(isAboveCount ? { ...found.place, total: null } : found.place, {
    rows,
    isFixed,
    most: isAboveCount ? 1 : further,
    known: question.known?.showing,
  });
  const usual = found.page.limit;
  const emptyAsOf = found.place.total === null ? found.answer.grantedAt : undefined;
  const fetch = ({ page, limit }: PageAddress) =>
    fetchPage(question, { page, limit, flexible: false, usual, emptyAsOf });
  let previous: PlacedAnswer = found;
  for await (const shown of fetchInOrder(question.reader, inTurn(addresses), fetch)) {
    const answer = await unlessFirstAgain(
      reading,
      { found, previous },
      await confirmEnd(question, previous.answer, shown, usual),
    );
    const placed = placeAnswer(reading.task.resource, answer, isFixed ? previous.place : null, previous);
    const reached = await confirmLast(reading, placed);
    yield stepOf(reading, reached, { previous: previous.answer, before: previous.place.lastOffset + 1 });
    const { place } = reached;
    if (place.interval === null || place.order === 'none' || reachesEnd(place, range, isDescending)) return;
    // Pages are turned otherwise from here on.
    if (answer.refused === 'fewer') return;
    previous = reached;
  }
  // Rows that the key may not see keep their places: the start of the range may lie behind these pages, and rows behind all that are counted.
  const { page, place } = previous;
  const goesOn = beginsBehind(place, startOf(reading), isDescending) || exceedsCount(page, place);
  const isFurther = beginsBehind(found.place, place.last, isDescending);
  if (goesOn && isFurther) yield* readOn(reading, { ...previous, isFixed }, most - further);
}

/**
 * The list ends with this page by its count, which may be old; and pages may be shorter than it assumes, where deleted rows keep their places. So
 * the page behind one that may be full, that shows more than is counted, behind which the source counts more pages, or more is stored, has to show no
 * further row.
 */
async function confirmLast(reading: RangeReading, placed: PlacedAnswer): Promise<PlacedAnswer> {
  const { question, task, isDescending, behind } = reading;
  const { answer, place, page } = placed;
  const { interval, last } = place;
  if (!place.isEnd || place.total === null || interval === null || last === null) return placed;
  const isFull = page.rows >= fullPage(task.resource, page.limit) || mayBeCut(task.resource, answer, interval);
  const isAboveCount = place.lastOffset + 1 > place.total;
  const isFollowed = page.reachesCount !== true && page.page < (page.meta?.totalPages ?? 0);
  if (!isFull && !isAboveCount && !isFollowed && (await behind(last)) === 0) return placed;
  const behindIt = { page: page.page + 1, limit: page.limit, grantedAt: answer.grantedAt };
  const next = await fetchBehind(withoutWaiting(question), behindIt);
  const confirmed = { ...placed, answer: { ...answer, requests: answer.requests + next.requests } };
  const ids = next.rows.map(raw => idOf(raw, task.resource.job.key));
  if (!ids.some(id => id !== null && (isDescending ? id < last : id > last))) return confirmed;
  const shown: IdSlice = isDescending ? { ...interval, from: last } : { ...interval, to: openAtLast(last) };
  const { profile } = task.resource;
  const isFirstSeen = profile.pageSize === null && page.isFull && next.rows.length <= answer.rows.length;
  const shownBehind = isFirstSeen ? observePageSize(profile, next, answer) : [];
  return { ...confirmed, place: { ...place, isEnd: false, interval: shown }, shownBehind };
}

/** Another page, without a count, and the same rows. */
const repeats = (previous: PageAnswer, answer: PageAnswer): boolean =>
  answer.page > 1 &&
  answer.meta === undefined &&
  answer.page !== previous.page &&
  JSON.stringify(answer.rows) === JSON.stringify(previous.rows);

/**
 * Behind its end, a list without a count may show its first page again: it goes back to where the list begins. Such a page counts as empty. In a list
 * that is in another order after all, a page may begin with a row that comes before all known ones, too: there, most of its rows are new.
 */
async function unlessFirstAgain(
  reading: RangeReading,
  { found, previous }: { readonly found: PlacedAnswer; readonly previous: PlacedAnswer },
  answer: PageAnswer,
): Promise<PageAnswer> {
  const { task, rank, isDescending, stored } = reading;
  const ids = answer.rows.map(raw => idOf(raw, task.resource.job.key));
  const [first = null] = ids;
  const before = previous.place.first;
  if (first === null || before === null || answer.meta !== undefined) return answer;
  const isBack = isDescending ? first > before : first < before;
  if (!isBack || (await rank(first)) > 0) return answer;
  const shown = new Set([found, previous].flatMap(({ page }) => page.ids ?? []));
  const others = ids.filter(id => id !== null && !shown.has(id)) as bigint[];
  const isNew = 2 * (others.length - (await stored(others))) > ids.length;
  return isNew ? answer : { ...answer, rows: [] };
}

/** The page begins with the first row of the list, by the rows stored. */
const isTop = async ({ rank }: RangeReading, { first }: Place): Promise<boolean> =>
  first !== null && (await rank(first)) === 0;

const LIMIT_HONOURED: Observation = {
  trait: 'limit',
  value: 'honoured',
  evidence: `asked for ${PROBE.limit} rows, got them`,
};
