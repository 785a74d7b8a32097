import { stampMs } from '../../clock.ts';
import { MAX_PAGES } from '../../source/paging/page-count.ts';
import { lastByCount } from '../../source/paging/pager.ts';
import {
  endPass,
  isAtStart,
  pagesToRead,
  type Reading,
  type ReadingOutcome,
  type ReadPage,
  readPage,
  startReading,
} from '../../source/paging/stable-reading.ts';
import { MOST_PAGES } from '../agenda/choice.ts';
import { observeDaysShown, type ShownDays, withDays } from '../profile/limited-span.ts';
import type { Observation } from '../profile/observation.ts';
import { isDistrust, narrows } from '../profile/observe-filter.ts';
import { isSingleBody } from '../profile/strategy.ts';
import type { Resource } from '../resource.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import { type EqualRows, heldKeys, NO_EQUALS, type PageOfPass, takeEquals } from './answer/equal-rows.ts';
import { recalled } from './answer/known-rows.ts';
import { weightAlone } from './answer/observe-answer.ts';
import {
  daysAsked,
  daysIn,
  observeLength,
  observeList,
  observeMiscount,
  showsFirstRows,
} from './answer/observe-list.ts';
import { parseRows } from './answer/parse-rows.ts';
import { contextOf, endOf, unproven } from './end-of-reading.ts';
import { endIfRefused, fetchBehind } from './fetch/confirm-end.ts';
import { fetchInOrder, inTurn } from './fetch/fetch-in-order.ts';
import {
  fetchPage,
  firstLimit,
  fullPage,
  isFiltered,
  type ListQuery,
  type PageAnswer,
  type Reader,
} from './fetch/fetch-page.ts';
import { fetchFirstPage } from './fetch/first-page.ts';
import type { PageReading } from './plan-window.ts';
import type { End, Step } from './step.ts';

const RULES = { count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: MOST_PAGES } as const;

/**
 * Reads a slice from its stored position and yields a step for each page. `source/paging` decides which pages to request and
 * how the reading ends; this fetches them, in parallel if they are counted, and parses their rows.
 */
export async function* readPages(reader: Reader, task: Task, plan: PageReading): AsyncGenerator<Step> {
  const { resource } = task;
  const { slice, query } = plan;
  const isProof = slice.by === 'date' || slice.by === 'whole';
  const known = isProof && !plan.measures ? await reader.recall(resource, slice, query) : null;
  const question: ListQuery = { reader, task, slice, query, known };
  let progress = beginReading(firstLimit(reader, resource), positionOf(task, slice));
  for (;;) {
    const pages = pagesToRead(progress.reading);
    const { pass } = progress.reading.pager;
    for await (const answer of fetchInOrder(reader, inTurn(pages), page => fetch(question, progress.reading, page))) {
      const taken = takeAnswer(task, plan, progress, answer);
      progress = taken.progress;
      // The page comes before those that were asked for beside it.
      if (taken.step === null) break;
      yield taken.step;
      if (taken.step.end) return;
      // The pass ended before all pages that were asked for.
      if (progress.reading.pager.pass !== pass) break;
    }
    if (pages.length > 0) continue;
    // All pages were read before a restart, so only the end remains.
    const { reading: last } = progress;
    const { reading: next, outcome } = endPass(last, last.pager.page - 1, contextOf(task, plan, last, null, null));
    progress = { ...progress, reading: next };
    if (outcome === null) continue;
    const end = endOf(plan, outcome, last.startedAt as string);
    yield { resource, task, slice, rows: [], bad: [], requests: 0, release: () => undefined, end };
    return;
  }
}

/**
 * Where a reading of the slice continues. What was half read before somebody asked for it, or a hint pointed to it, may have changed since: a part of the
 * list is proven as of then only, and read again, but a targeted slice is read from its first page.
 */
function positionOf({ resource, reportOnly, kind, since }: Task, slice: Slice) {
  const stored = reportOnly ? undefined : resource.cursor.readings[sliceText(slice)];
  const isTargeted = slice.by === 'value' || slice.by === 'newest';
  const isOld = (kind === 'refresh' || kind === 'hint') && stampMs(stored?.startedAt ?? '') < since;
  return isTargeted && isOld ? undefined : stored;
}

const beginReading = (limit: number, stored?: Parameters<typeof startReading>[1]): ReadSoFar => ({
  reading: startReading({ ...RULES, limit }, stored),
  ...{ first: null, days: null, equals: NO_EQUALS, droppedRequests: 0, isShorter: false },
});

interface ReadSoFar {
  readonly reading: Reading;
  /** Page 1 of this reading, unless it was read before a restart. */
  readonly first: PageAnswer | null;
  /** The days of the rows that it has shown. */
  readonly days: ShownDays | null;
  /** Its first page taught that fewer days can be asked for. */
  readonly narrower?: Observation | undefined;
  readonly equals: EqualRows;
  /** Requests for answers that were discarded and requested again. */
  readonly droppedRequests: number;
  /** It began anew with shorter pages than usual. */
  readonly isShorter: boolean;
}

async function fetch(question: ListQuery, reading: Reading, page: number): Promise<PageAnswer> {
  const { limit, pager, startedAt } = reading;
  const { resource } = question.task;
  if (isAtStart(reading)) return fetchFirstPage(question, limit);
  if (pager.goesBehind && startedAt !== null) return fetchBehind(question, { page, limit, grantedAt: startedAt });
  const isCounted = pager.totalPages !== null;
  // Short pages make a list seem to have more pages than the source counts. A restart forgot how many that are.
  const byRows = Math.ceil((pager.totalRecords ?? 0) / fullPage(resource, limit));
  const lastPage = isCounted ? (pager.count?.totalPages ?? byRows) : pager.previous?.promised;
  const isBehind = !isCounted || page > (lastPage ?? 0);
  // `readAll`: what the unfiltered list lacks may be deleted at once, so that a refusal is no end of it.
  const emptyAsOf = isBehind && question.slice.by !== 'newest' ? (startedAt ?? undefined) : undefined;
  const answer = await fetchPage(question, { page, limit, flexible: false, emptyAsOf });
  // A restart forgot the page before.
  const rows = pager.previous?.rows ?? pager.seen.size - (page - 2) * fullPage(resource, limit);
  return endIfRefused(resource, answer, { rows, limit, lastPage });
}

/** Turns an answer into a step; null if the page must be requested again. */
function takeAnswer(
  task: Task,
  plan: PageReading,
  progress: ReadSoFar,
  answer: PageAnswer,
): { progress: ReadSoFar; step: Step | null } {
  const { resource } = task;
  const { reading } = progress;
  const { page, limit, grantedAt, meta, promised, rows, release } = answer;
  const parsed = parseRows(resource, answer, reading.pager.seen, reading.pager.shown, plan.slice.by === 'value');
  const { keys, last } = parsed;
  const listPage = { page, limit, grantedAt, meta, promised, rows: rows.length, keys, last };
  const weight = daysAsked(plan) ? weightAlone(resource, answer) : null;
  const read = readPage(reading, listPage, contextOf(task, plan, reading, answer, weight));
  const { position, outcome } = read;
  const requests = progress.droppedRequests + answer.requests;
  if (position === null) {
    release();
    return { progress: { ...progress, reading: read.reading, droppedRequests: requests }, step: null };
  }
  if (!progress.isShorter && mayBeLastPage(resource, plan, answer, read)) {
    release();
    return { progress: { ...beginReading(limit - 1), isShorter: true, droppedRequests: requests }, step: null };
  }
  const { isDuplicate } = read.taken;
  const shown = isDuplicate ? { rows: [], bad: [], replaced: 0 } : parsed;
  const days = withDays(progress.days, daysIn(plan, parsed.rows));
  const asked = outcome === null ? undefined : daysAsked(plan);
  const learnt = [
    ...observeList(resource, plan, answer, { reading, read, first: progress.first, rows: shown.rows }),
    // What lies behind the end of a list may come without a count.
    ...observeMiscount(resource, plan.slice, meta ?? progress.first?.meta, outcome),
    ...observeLength(task, plan, read, weight),
    ...(asked ? observeDaysShown(resource.profile, asked, days) : []),
  ];
  const narrower = isAtStart(reading) ? learnt.find(each => narrows(resource.profile, each)) : progress.narrower;
  const distrust = showsFirstRows(reading) ? learnt.find(isDistrust) : undefined;
  const doubt = distrust ?? (isTooLong(outcome) ? narrower : undefined);
  const end = doubt ? unproven(doubt.evidence, grantedAt) : outcome && endOf(plan, outcome, position.startedAt);
  const { written, equals } = takeEquals(progress.equals, shown.rows, pageOfPass(plan, reading, read, end));
  const step: Step = {
    resource,
    task,
    slice: plan.slice,
    rows: written,
    held: heldKeys(equals),
    ...(isDuplicate ? {} : recalled(resource, answer, parsed)),
    bad: shown.bad,
    replaced: shown.replaced,
    fields: parsed.fields,
    requests,
    release,
    anew: reading.startedAt === null,
    learnt,
    lastDayShown: asked && days?.last === asked.to ? days.last : undefined,
    ...(end ? { end } : { position }),
  };
  const next: ReadSoFar = {
    reading: read.reading,
    first: isAtStart(reading) ? answer : progress.first,
    days,
    narrower,
    equals,
    droppedRequests: 0,
    isShorter: progress.isShorter,
  };
  return { progress: next, step };
}

/**
 * The first page of what a filter leaves came again as page 2: it is the last one, or the source turns no pages of this. Shorter pages tell, as the
 * second of them has a row then.
 */
const mayBeLastPage = (
  { profile }: Resource,
  { query }: PageReading,
  { rows, limit }: PageAnswer,
  { outcome, taken }: ReadPage,
): boolean =>
  outcome?.kind === 'capped' &&
  taken.repeatsFirst &&
  rows.length === limit &&
  limit > 1 &&
  isFiltered(query) &&
  profile.limit !== 'ignored' &&
  !isSingleBody(profile);

/** Without a count, the reading was too long to be believed. */
const isTooLong = (outcome: ReadingOutcome | null): boolean =>
  outcome?.kind === 'capped' || (outcome?.kind === 'cut' && outcome.total === null);

/** What the page is to rows without an id. */
function pageOfPass(plan: PageReading, before: Reading, { reading, taken }: ReadPage, end: End | null): PageOfPass {
  const { pass } = taken.pager;
  // Of more pages, the list is read once more.
  const isOpen = isAtStart(before) && (lastByCount(taken.pager) ?? 1) <= 1;
  return {
    alone: pass > 1 || plan.cut ? 'sure' : isOpen ? 'open' : 'first pass',
    // A pass that starts over counts equal rows from the start.
    passed: end === null && reading.startedAt === null ? taken.pager.seen : null,
    end: end && (end.kind === 'proven' || end.kind === 'targeted' ? 'complete' : 'otherwise'),
  };
}
