import { isKind } from '../../errors.ts';
import { countPages } from '../../source/paging/page-count.ts';
import { oldestProof } from '../coverage/list.ts';
import { observeOneAnswer, observeOrder, orderOfRows } from '../profile/observe-order.ts';
import type { Resource } from '../resource.ts';
import { wholeTime } from '../slices/date-windows.ts';
import type { Slice } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import { NO_EQUALS, takeEquals } from './answer/equal-rows.ts';
import { knownRows, mayBeCut, observeAnswer } from './answer/observe-answer.ts';
import { parseRows } from './answer/parse-rows.ts';
import { unproven } from './end-of-reading.ts';
import { endIfRefused, lengthOf } from './fetch/confirm-end.ts';
import { fetchPage, firstLimit, type PageAnswer, type Reader } from './fetch/fetch-page.ts';
import { readPages } from './read-pages.ts';
import type { Committed, End, Step } from './step.ts';

const NEWEST_END: Slice = { by: 'newest' };

/**
 * Reads the unfiltered list from its newest end until a page brings nothing new, in at most `most` pages. It shows new rows of
 * any date, the number of rows and the order of the list; it proves nothing.
 */
export async function* readNewest(reader: Reader, task: Task, most: number): AsyncGenerator<Step, void, Committed> {
  const { resource } = task;
  const slice = NEWEST_END;
  let limit = firstLimit(reader, resource);
  // The newest rows of an ascending list are on its last page; the first answer corrects the guess.
  let page =
    resource.profile.order === 'id-asc' && resource.total != null ? Math.max(Math.ceil(resource.total / limit), 1) : 1;
  let startedAt: string | null = null;
  let previous: PageAnswer | null = null;
  for (let read = 1; ; read++) {
    const emptyAsOf = previous !== null && page > previous.page ? previous.grantedAt : undefined;
    const address = { page, limit, flexible: read === 1, emptyAsOf };
    const shown = await fetchPage({ reader, task, slice, query: {} }, address);
    const answer: PageAnswer = previous === null ? shown : endIfRefused(resource, shown, lengthOf(previous));
    limit = answer.limit;
    startedAt ??= answer.grantedAt;
    const pages = countPages(answer.meta, page === 1 ? answer.rows.length : 0);
    const order = resource.profile.order ?? orderOfRows(resource.profile, answer, resource.job.key);
    const next = order === 'id-asc' ? (read === 1 && pages !== null && pages > page ? pages : page - 1) : page + 1;
    const isOrdered = order !== 'none' && order !== null;
    const isLast =
      !isOrdered || read >= most || next < 1 || (pages !== null && next > pages) || answer.rows.length === 0;
    const { rows, bad, replaced, fields } = parseRows(resource, answer, new Set());
    // Equal rows are told apart where all of them are shown; some are shown by no window.
    const showsAll = resource.profile.oneAnswer === 'complete' && !mayBeCut(resource, answer, slice);
    const end = showsAll ? 'complete' : 'otherwise';
    const step: Step = {
      resource,
      task,
      slice,
      rows: takeEquals(NO_EQUALS, rows, { alone: 'first pass', passed: null, end }).written,
      bad,
      replaced,
      fields,
      requests: answer.requests,
      release: answer.release,
      isAwaited: true,
      learnt: observeNewest(resource, answer, { pages, previous: next > page ? previous : null }),
      total: answer.meta?.totalRecords ?? null,
      end: { kind: 'targeted', complete: false, startedAt },
    };
    const bringsNews = (yield step).changed > 0;
    // The first page of an ascending list holds its oldest rows: the reading goes on without news there.
    const isOldEnd = order === 'id-asc' && read === 1 && next > page;
    if (isLast || !(bringsNews || isOldEnd)) return;
    page = next;
    previous = answer;
  }
}

/** Reads the unfiltered list from its newest end to the other. Some sources refuse pages beyond a depth: then the reading shows nothing in full. */
export async function* readAll(reader: Reader, task: Task, startedAt: string): AsyncGenerator<Step> {
  const whenRead = (startedAt: string): End => ({ kind: 'targeted', complete: true, startedAt });
  try {
    yield* readPages(reader, task, { slice: NEWEST_END, query: {}, whenRead });
  } catch (error) {
    if (!isKind(error, 'refused')) throw error;
    const nothing = { rows: [], bad: [], requests: 0, release: () => undefined };
    yield { ...nothing, resource: task.resource, task, slice: NEWEST_END, end: unproven(error.message, startedAt) };
  }
}

function observeNewest(
  resource: Resource,
  answer: PageAnswer,
  context: { pages: number | null; previous: PageAnswer | null },
) {
  const { profile } = resource;
  return [
    ...observeAnswer(resource, answer, context),
    ...observeOrder(profile, answer, resource.job.key),
    ...observeOneAnswer(profile, answer, {
      looksCut: mayBeCut(resource, answer, NEWEST_END),
      inWindows: rowsInWindows(resource),
    }),
  ];
}

/** Rows that the date windows showed; null while one was never read. */
const rowsInWindows = (resource: Resource): number | null =>
  resource.strategy.partition === 'date' && oldestProof(resource) !== null ? knownRows(resource, wholeTime) : null;
