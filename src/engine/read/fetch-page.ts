import { isKind } from '../../errors.ts';
import { type Client, isTimeout, type ListAnswer, type Meta } from '../../source/client.ts';
import { endsBehindFullPage } from '../../source/paging/pager.ts';
import { holdsRows, pageSize } from '../coverage/list.ts';
import { isSingleBody } from '../profile/strategy.ts';
import type { Resource } from '../resource.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import { noSuchList, orAbsent } from './absent-list.ts';

/** What readings need of the loop that runs them. */
export interface Reader {
  readonly client: Client;
  /** Rows to ask for per page: `auto` finds out what the source returns. */
  readonly pageSize: number | 'auto';
  /** Answers asked for ahead of the one being committed. */
  readonly ahead: number;
  readonly signal: AbortSignal;
  /** Runs `ask` once few enough answers wait to be committed; the answer counts among them until it is released. */
  readonly admit: <T>(ask: () => Promise<T>) => Promise<{ value: T; release: () => void }>;
}

export interface PageAnswer {
  readonly rows: readonly unknown[];
  readonly meta: Meta | undefined;
  readonly grantedAt: string;
  readonly requests: number;
  readonly limit: number;
  readonly page: number;
  /** The source refused to be asked for more rows a page. */
  readonly refused?: boolean;
  readonly release: () => void;
}

/** What is asked of a list: a slice of it, as a query. */
export interface ListQuestion {
  readonly reader: Reader;
  readonly task: Task;
  readonly slice: Slice;
  readonly query: Readonly<Record<string, string>>;
}

interface PageAddress {
  readonly page: number;
  readonly limit: number;
  /** The limit may come down where the source refuses it or times out. Only the first page of a reading is flexible. */
  readonly flexible: boolean;
}

/** Page sizes to come down by. */
const SIZES = [1000, 500, 250, 100, 50, 20];

/** Up to this many rows a page, a time-out has other causes than the size. */
const SMALL_PAGE = 100;

/** Rows to ask for at the start of a reading. */
export function firstLimit(reader: Reader, resource: Resource): number {
  if (reader.pageSize !== 'auto') return reader.pageSize;
  const size = pageSize(resource, SIZES[0]);
  // One answer is all there is: only a size that was refused is a reason to ask for less.
  return isSingleBody(resource.profile) ? (SIZES.find(each => each <= size) ?? size) : size;
}

/** Rows of a full page, where so many were asked for. */
export const fullPage = (resource: Resource, limit: number): number => Math.min(limit, pageSize(resource, limit));

/** Fetches one page of the list. Throws `absent` where an optional list does not exist. */
export async function fetchPage(question: ListQuestion, address: PageAddress): Promise<PageAnswer> {
  const { resource } = question.task;
  const { page, flexible } = address;
  let refused = false;
  let patient = false;
  for (let { limit } = address; ; ) {
    const smaller = flexible ? SIZES.find(size => size < limit) : undefined;
    // Where a smaller page may help, that is tried before waiting longer.
    const hasty = smaller !== undefined && limit > SMALL_PAGE && !patient;
    try {
      const { value: answer, release } = await request(question, { page, limit }, hasty);
      const { grantedAt, requests } = answer;
      const came = { grantedAt, requests, limit, page, refused, release };
      if (answer.kind === 'rows') return { ...came, rows: answer.rows, meta: answer.meta };
      // 404 past the end of a list, or for a filter without rows, means none. Page 1 of the unfiltered list must exist.
      if (page > 1 || Object.keys(question.query).length > 0) return { ...came, rows: [], meta: undefined };
      release();
      throw noSuchList(resource);
    } catch (cause) {
      const error = orAbsent(resource, cause);
      const tooLarge = isKind(error, 'refused') || (isTimeout(error) && limit > SMALL_PAGE);
      if (smaller !== undefined && tooLarge) {
        refused = isKind(error, 'refused');
        limit = smaller;
      } else if (hasty && isKind(error, 'unavailable')) {
        // An outage says nothing of the size: the same page again, with the usual number of attempts.
        patient = true;
      } else throw error;
    }
  }
}

/** `hasty`: given up after two attempts. */
const request = (
  { reader, task, slice, query }: ListQuestion,
  ask: { page: number; limit: number },
  hasty: boolean,
): Promise<{ value: ListAnswer; release: () => void }> =>
  reader.admit(() =>
    reader.client.list(task.resource.job.path, query, ask, {
      lane: task.lane,
      purpose: `${task.resource.name} ${sliceText(slice)}`,
      runId: task.runId,
      signal: reader.signal,
      ...(hasty ? { attempts: 2 } : {}),
    }),
  );

/**
 * Fetches the first page of a reading, with fewer rows if need be. One that is empty where rows are stored is asked for once
 * more: an answer that lost its rows is likelier than rows that were all deleted at once.
 */
export async function fetchFirstPage(question: ListQuestion, limit: number): Promise<PageAnswer> {
  const answer = await fetchPage(question, { page: 1, limit, flexible: true });
  if (answer.rows.length > 0 || !holdsRows(question.task.resource, question.slice)) return answer;
  return replacing(answer, () => fetchPage(question, { page: 1, limit: answer.limit, flexible: true }));
}

/** Fetches a page behind another. Where nothing counts the pages, an empty one behind a full one is asked for once more. */
export async function confirmEnd(
  resource: Resource,
  previous: PageAnswer,
  answer: PageAnswer,
  fetchAgain: () => Promise<PageAnswer>,
): Promise<PageAnswer> {
  const before = { rows: previous.rows.length, meta: previous.meta };
  const isDoubtful = endsBehindFullPage(before, { rows: answer.rows.length }, fullPage(resource, previous.limit));
  return isDoubtful ? replacing(answer, fetchAgain) : answer;
}

/** Another answer in place of this one, which counts only as a request. */
export async function replacing(answer: PageAnswer, fetchAgain: () => Promise<PageAnswer>): Promise<PageAnswer> {
  answer.release();
  const again = await fetchAgain();
  return { ...again, requests: answer.requests + again.requests };
}

/** Fetches up to `ahead` pages at once, and yields the answers in order. What was fetched and not used is released. */
export async function* fetchInOrder<T>(
  { ahead }: Reader,
  items: readonly T[],
  fetch: (item: T) => Promise<PageAnswer>,
): AsyncGenerator<PageAnswer> {
  const running: Promise<PageAnswer>[] = [];
  let next = 0;
  const fill = () => {
    while (running.length < ahead && next < items.length) {
      const answer = fetch(items[next++] as T);
      // A failure is met when its turn comes; until then it must not count as unhandled.
      answer.catch(() => undefined);
      running.push(answer);
    }
  };
  try {
    for (fill(); running.length > 0; fill()) yield await (running.shift() as Promise<PageAnswer>);
  } finally {
    for (const answer of running) answer.then(unused => unused.release()).catch(() => undefined);
  }
}
