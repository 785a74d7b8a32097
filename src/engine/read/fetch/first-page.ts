import { stampMs } from '../../../clock.ts';
import { isKind } from '../../../errors.ts';
import { holdsNothing, holdsRows } from '../../coverage/list.ts';
import { keyIn } from '../../profile/observe-page.ts';
import { firstPageHidden, nothingAnswered } from './absent-list.ts';
import {
  fetchPage,
  firstLimit,
  isFiltered,
  isRefusal,
  type ListQuery,
  type PageAnswer,
  replacing,
  SMALL_PAGE,
} from './fetch-page.ts';

/**
 * Fetches the first page of a reading, smaller if necessary. If the page is empty although rows are stored, another answer has to be: a faulty one
 * is likelier than the deletion of all rows at once. A 404 in place of rows has to be confirmed by other answers.
 */
export async function fetchFirstPage(question: ListQuery, limit: number): Promise<PageAnswer> {
  const answer = await fetchPage(question, { page: 1, limit, flexible: true });
  const { resource } = question.task;
  // A count of none agrees.
  const asksBare = !isFiltered(question.query) && answer.meta?.totalRecords !== 0;
  if (answer.rows.length > 0 || (!asksBare && !holdsRows(resource, question.slice))) return answer;
  const again = await replacing(question, answer, asked =>
    asksBare ? unlessShownBare(asked, answer) : fetchPage(asked, { page: 1, limit: answer.limit, flexible: true }),
  );
  if (!again.isGone || holdsNothing(resource)) return again;
  again.release();
  const requests = await provePresence(question, again);
  return { ...again, requests: again.requests + requests };
}

/** Rows to ask for where a source shows no row of a longer page. */
const SMALLER = [SMALL_PAGE, 20];

/**
 * The first page of the whole list had no rows. It is believed once the list has none without page and limit, too, and no shorter page shows one
 * of those that it counts. Otherwise the answer was wrong, or the source shows no row of a page longer than it allows, or it hides all rows of
 * this page, whose count says that others follow, or it counts its pages from another number than 1.
 */
async function unlessShownBare(question: ListQuery, { limit, meta, promised }: PageAnswer): Promise<PageAnswer> {
  const { job } = question.task.resource;
  const ask = (size: number, bare?: true) => fetchPage(question, { page: 1, limit: size, flexible: false, bare });
  // A source may insist on both.
  const insists = (error: unknown) => isRefusal(error) || isKind(error, 'absent');
  const bare = await ask(limit, true).catch((error: unknown) => (insists(error) ? ask(limit) : Promise.reject(error)));
  const isBareEmpty = bare.rows.length === 0;
  const pages = promised ?? meta?.totalPages ?? 1;
  if (isBareEmpty && pages <= 1 && !meta?.totalRecords) return bare;
  const first = keyIn(bare.rows[0], job.key);
  let shown = bare;
  const shorter = SMALLER.filter(size => size < limit);
  for (const size of isBareEmpty ? shorter : [limit, ...shorter]) {
    shown = await replacing(question, shown, () => ask(size));
    // Others may have come before it meanwhile.
    if (isBareEmpty ? shown.rows.length > 0 : shown.rows.some(row => keyIn(row, job.key) === first))
      return size === limit ? shown : { ...shown, refused: 'more' };
  }
  if (isBareEmpty) return { ...bare, requests: shown.requests };
  if (pages > 1) return replacing(question, shown, () => ask(limit));
  throw firstPageHidden(question.task.resource);
}

/**
 * Every address answers 404 while a source is deployed or a proxy has lost it. So nothing is empty for that unless the source answers then: for
 * the list without a filter or, where that has lost all of its rows, for another list. Returns the requests that this took.
 */
async function provePresence({ reader, task, query }: ListQuery, { limit, grantedAt }: PageAnswer): Promise<number> {
  const { resource: asked } = task;
  const others = reader.othersAnswering(asked, stampMs(grantedAt)).filter(other => !holdsNothing(other));
  const lists = [
    ...(isFiltered(query) ? [{ resource: asked, limit }] : []),
    ...others.map(other => ({ resource: other, limit: firstLimit(reader, other) })),
  ];
  let requests = 0;
  for (const { resource, limit } of lists) {
    const question: ListQuery = { reader, task: { ...task, resource }, slice: { by: 'newest' }, query: {} };
    const answer = await fetchPage(question, { page: 1, limit, flexible: true });
    answer.release();
    requests += answer.requests;
    // An empty list of another kind of rows may be an answer of the same failure.
    if (answer.rows.length > 0 || (resource === asked && !answer.isGone)) return requests;
  }
  throw nothingAnswered(asked);
}
