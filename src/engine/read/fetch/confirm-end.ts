import { isKind } from '../../../errors.ts';
import { MOST_FRUITLESS_PAGES } from '../../../source/paging/page-count.ts';
import { endsBehindFullPage, isFollowed } from '../../../source/paging/take-page.ts';
import { turnsPages } from '../../profile/observe-page.ts';
import { distinct } from '../../profile/page-length.ts';
import type { Resource } from '../../resource.ts';
import {
  fetchPage,
  fullPage,
  type ListQuery,
  type PageAnswer,
  replacing,
  withoutRows,
  withoutWaiting,
} from './fetch-page.ts';

/** A page behind the end of the list by its count. A source may refuse it, or fail at it: then the count stands. `grantedAt`: of the page before. */
export function fetchBehind(
  question: ListQuery,
  address: Pick<PageAnswer, 'page' | 'limit' | 'grantedAt'>,
): Promise<PageAnswer> {
  return fetchPage(question, { page: address.page, limit: address.limit, flexible: false }).catch((error: unknown) => {
    if (!isKind(error, 'refused', 'unavailable')) throw error;
    return withoutRows(address);
  });
}

/**
 * A page that the source refuses has no rows behind the last page that a count promises, believed or not (`lastPage`), and, where nothing counts the
 * pages, behind a short one (`before`). Otherwise the source may refuse to show what is there: then this throws.
 */
export function endIfRefused(
  resource: Resource,
  answer: PageAnswer,
  before: { readonly rows: number; readonly limit: number; readonly lastPage?: number | undefined },
): PageAnswer {
  const { rows, limit, lastPage } = before;
  const mayGoOn = lastPage === undefined ? rows >= fullPage(resource, limit) : answer.page <= lastPage;
  if (answer.refusal && mayGoOn) throw answer.refusal;
  return answer;
}

/** What a page says of the end of the list. */
export const lengthOf = ({ rows, limit, promised }: PageAnswer) => ({ rows: rows.length, limit, lastPage: promised });

/**
 * Returns the answer to a page after the first. If nothing counts the pages, an empty page after a full one is requested again; for those that a
 * count promises which is not believed, see `thinned`. `usual`: as for `fetchPage`.
 */
export async function confirmEnd(
  question: ListQuery,
  previous: PageAnswer,
  shown: PageAnswer,
  usual?: number,
): Promise<PageAnswer> {
  const answer = endIfRefused(question.task.resource, shown, lengthOf(previous));
  const { page, limit } = answer;
  const before = { rows: previous.rows.length, meta: previous.meta };
  const full = fullPage(question.task.resource, previous.limit);
  const isDoubtful = endsBehindFullPage(before, { rows: answer.rows.length }, full);
  const confirmed = isDoubtful
    ? await replacing(question, answer, asked => fetchPage(asked, { page, limit, flexible: false, usual }))
    : answer;
  return confirmed.rows.length === 0 ? lookBehind(question, confirmed) : compareWith(question, previous, confirmed);
}

/** An empty page that others follow by a count which is not believed: rows were taken out of it after it was cut if one of those has rows. */
export async function lookBehind(question: ListQuery, answer: PageAnswer): Promise<PageAnswer> {
  const { limit } = answer;
  const ask = (page: number) => fetchPage(withoutWaiting(question), { page, limit, flexible: false });
  let { requests } = answer;
  let behind = answer;
  for (let empty = 1; behind.rows.length === 0 && isFollowed(behind) && empty < MOST_FRUITLESS_PAGES; empty++) {
    behind = await ask(behind.page + 1);
    requests += behind.requests;
  }
  if (behind.rows.length === 0) return { ...answer, requests };
  if (behind === answer) return answer;
  // One answer may have lost its rows.
  const again = await ask(answer.page);
  requests += again.requests;
  if (again.rows.length > 0) return { ...again, release: answer.release, requests };
  return { ...answer, requests, thinned: `page ${answer.page} is empty, and page ${behind.page} is not` };
}

/** The same for two pages that differ in length, where the list is not at its end by that count, and the shorter one is not its last. */
async function compareWith(question: ListQuery, previous: PageAnswer, answer: PageAnswer): Promise<PageAnswer> {
  const { promised = 0, page, limit } = answer;
  const { job } = question.task.resource;
  const isNext = previous.page + 1 === page && previous.limit === limit && page <= promised;
  if (!isNext || previous.rows.length === 0 || !turnsPages(job.key, previous, answer)) return answer;
  const ask = (number: number) => fetchPage(withoutWaiting(question), { page: number, limit, flexible: false });
  const shown = distinct(answer.rows);
  const isShorter = (before: PageAnswer) => before.rows.length < shown && turnsPages(job.key, before, answer);
  if (isShorter(previous)) {
    const again = await ask(previous.page);
    const came = { ...answer, requests: answer.requests + again.requests };
    if (again.rows.length === 0 || !isShorter(again)) return came;
    return { ...came, thinned: `page ${again.page} shows ${again.rows.length} rows, and the next ${shown}` };
  }
  if (answer.rows.length >= distinct(previous.rows) || !isFollowed(answer)) return answer;
  const next = await ask(page + 1);
  const came = { ...answer, requests: answer.requests + next.requests };
  if (next.rows.length === 0 || !turnsPages(job.key, answer, next)) return came;
  return {
    ...came,
    thinned: `page ${page} shows ${shown} rows, the one before ${previous.rows.length}, and another follows`,
  };
}
