import { stampMs } from '../../../clock.ts';
import { isKind, type SluiceError } from '../../../errors.ts';
import { type Client, isTimeout, type ListAnswer, type Meta } from '../../../source/client.ts';
import { countPages } from '../../../source/paging/page-count.ts';
import type { KnownAnswer } from '../../../warehouse/rows/write/known-answers.ts';
import { holdsNothing, type List, pageSize } from '../../coverage/list.ts';
import { believedMeta, promisedPages } from '../../profile/counts.ts';
import type { Refused } from '../../profile/observed-page.ts';
import { isSingleBody } from '../../profile/strategy.ts';
import type { Resource } from '../../resource.ts';
import { type Slice, sliceText } from '../../slices/slice.ts';
import { stopsSource, type Task } from '../../task/task.ts';
import { orAbsent, unanswered } from './absent-list.ts';
import type { KnownAnswers, Recall } from './recall.ts';

/** What readings need from the loop that runs them. */
export interface Reader {
  readonly client: Client;
  /** Rows to request per page. `auto` learns how many the source returns. */
  readonly pageSize: number | 'auto';
  /** Pages requested ahead of the one being committed. */
  readonly ahead: number;
  readonly signal: AbortSignal;
  /** Other lists that were answered lately, as of this moment (epoch ms): where there are any, a 404 does not mean that the address is wrong. */
  readonly othersAnswering: (list: List, at: number) => readonly Resource[];
  readonly recall: Recall;
  /** Waits while too many answers are uncommitted, then runs `ask`. The answer counts as uncommitted until it is released. */
  readonly admit: <T>(ask: () => Promise<T>) => Promise<{ value: T; release: () => void }>;
}

export interface PageAnswer {
  readonly rows: readonly unknown[];
  readonly meta: Meta | undefined;
  /** What tells the answer from any other, where it is to be known when it comes again. */
  readonly mark?: { readonly query: string; readonly digest: string } | undefined;
  /** The one that came before for the same page, if this is another. */
  readonly before?: KnownAnswer | undefined;
  /** It is this one, which came before: its `rows` have nothing but their keys. `reread`: all of them. */
  readonly known?: KnownAnswer & { readonly reread: () => readonly unknown[] };
  /** How many rows came with invalid bytes. */
  readonly replaced?: number | undefined;
  readonly grantedAt: string;
  readonly requests: number;
  readonly limit: number;
  readonly page: number;
  readonly refused?: Refused;
  /** Pages of the list by a count that is not believed; see `ListPage`. */
  readonly promised?: number | undefined;
  /** What shows that rows were taken out of pages after these were cut. */
  readonly thinned?: string;
  /** The rows are not in the order of the answer. */
  readonly unordered?: true | undefined;
  /** The source answered that there is nothing (404). */
  readonly isGone?: true;
  /** The source refused the page, as some do behind the end; see `PageRequest.emptyAsOf` and `endIfRefused`. */
  readonly refusal?: SluiceError;
  readonly release: () => void;
}

/** A slice of a list, as a query. */
export interface ListQuery {
  readonly reader: Reader;
  readonly task: Task;
  readonly slice: Slice;
  readonly query: Readonly<Record<string, string>>;
  /** The answers to it that came before; null where none may be taken for known. Default: none. */
  readonly known?: KnownAnswers | null;
}

interface PageRequest {
  readonly page: number;
  readonly limit: number;
  /** Ask for fewer rows if the source refuses the page or times out. Only the first page of a reading is flexible. */
  readonly flexible: boolean;
  /** Rows a page that the source has accepted. If it refuses fewer, the page of this size that holds the same place is asked for. */
  readonly usual?: number | undefined;
  /**
   * The list may end before this page: where the source refuses it, the answer has no rows and says so (`refusal`), as of this moment, which is not
   * after the request. Otherwise the refusal is thrown.
   */
  readonly emptyAsOf?: string | undefined;
  /** Without page and limit: what the source shows of itself. */
  readonly bare?: true | undefined;
}

/** Page sizes to try in turn. */
const LARGEST = 1000;
const SIZES = [LARGEST, 500, 250, 100, 50, 25, 20, 10];

/** At this size or below, a time-out is not due to the size of the page. */
export const SMALL_PAGE = 100;

/** Rows to request at the start of a reading. What the source refused is not asked for again. */
export function firstLimit(reader: Reader, { profile }: Resource): number {
  const accepted = profile.mostAccepted ?? LARGEST;
  if (reader.pageSize !== 'auto') return Math.min(reader.pageSize, accepted);
  // The list comes in one answer, so the page is smaller only where the source refused a larger one.
  return isSingleBody(profile) ? accepted : Math.min(pageSize({ profile }, accepted), accepted);
}

/** Rows of a full page if `limit` rows are requested. */
export const fullPage = (resource: Resource, limit: number): number => Math.min(limit, pageSize(resource, limit));

/** A page that is taken to be empty, although the source did not show it. */
export const withoutRows = (address: Pick<PageAnswer, 'page' | 'limit' | 'grantedAt'>): PageAnswer => ({
  ...address,
  ...{ rows: [], meta: undefined, requests: 0, release: () => undefined },
});

/**
 * Fetches one page of the list. Throws `absent` if an optional list does not exist. However often it is asked for, it waits once to be admitted: a
 * reading that holds later pages would otherwise wait for others that wait for it.
 */
export async function fetchPage(question: ListQuery, asked: PageRequest): Promise<PageAnswer> {
  const { value: answer, release } = await question.reader.admit(() => fetchAdmitted(question, asked));
  if (answer.refusal) release();
  return { ...answer, release };
}

async function fetchAdmitted(question: ListQuery, asked: PageRequest): Promise<Admitted> {
  const { resource } = question.task;
  let attempt: Attempt = { ...asked, patient: false, refusals: 0 };
  for (;;) {
    const { page, limit } = attempt;
    try {
      const answer = await fetchOnce(question, attempt, isHasty(attempt, asked));
      return asked.flexible && mayShowMore(question, answer) ? await fetchLonger(question, answer) : answer;
    } catch (cause) {
      const error = orAbsent(resource, cause);
      const next = afterError(error, attempt, asked);
      if (next === null) {
        const { emptyAsOf: grantedAt } = asked;
        if (!isRefusal(error) || page === 1 || grantedAt === undefined) throw error;
        return { ...withoutRows({ page, limit, grantedAt }), refusal: error };
      }
      attempt = next;
    }
  }
}

type Admitted = Omit<PageAnswer, 'release'>;

/** Rows that sources show where no limit is given. */
const DEFAULTS: readonly number[] = [10, 20, 25, 30, 50];

/** Of a list of which no full page was seen before, this one is shorter than most sources allow, and others follow. */
function mayShowMore({ task, query }: ListQuery, { page, limit, rows, meta }: Admitted): boolean {
  const isShort = page === 1 && limit > SMALL_PAGE && rows.length > 1 && rows.length < SMALL_PAGE;
  if (!isShort || task.resource.profile.pageSize !== null) return false;
  return meta === undefined
    ? !isFiltered(query) && DEFAULTS.includes(rows.length)
    : (countPages(meta, rows.length) ?? 1) > 1;
}

/** Where the limit is above their maximum, some sources show as few rows as without any. */
async function fetchLonger(question: ListQuery, answer: Admitted): Promise<Admitted> {
  const attempt: Attempt = { page: 1, limit: SMALL_PAGE, patient: false, refusals: 0 };
  try {
    const longer = await fetchOnce(question, attempt, false);
    return { ...longer, requests: answer.requests + longer.requests };
  } catch (error) {
    if (isRefusal(error)) return answer;
    throw error;
  }
}

/** How a page is asked for. */
interface Attempt {
  readonly page: number;
  readonly limit: number;
  /** Why it is asked for with another limit than at first. */
  readonly refused?: Refused;
  /** A smaller page may help, but the source is down, whatever the size. */
  readonly patient: boolean;
  /** How often fewer rows than usual were refused. */
  readonly refusals: number;
  readonly bare?: PageRequest['bare'];
}

const smallerThan = (limit: number, { flexible }: PageRequest): number | undefined =>
  flexible ? SIZES.find(size => size < limit) : undefined;

/** If a smaller page may help, it is tried before the source is given more time. */
const isHasty = ({ limit, patient }: Attempt, asked: PageRequest): boolean =>
  smallerThan(limit, asked) !== undefined && limit > SMALL_PAGE && !patient;

/** The source refused what it was asked for, not the key. */
export const isRefusal = (error: unknown): error is SluiceError => isKind(error, 'refused') && error.status !== 403;

/** How the page is asked for after this error; null where that would not help. */
function afterError(error: unknown, attempt: Attempt, asked: PageRequest): Attempt | null {
  const { page, limit, refusals } = attempt;
  const { usual = 0 } = asked;
  const smaller = smallerThan(limit, asked);
  const isRefused = isRefusal(error);
  if (isRefused && limit < usual && refusals < 2) {
    // Some sources accept certain limits only; a single refusal may have another reason.
    if (refusals === 0) return { ...attempt, refusals: 1 };
    const sameRows = Math.floor(((page - 1) * limit) / usual) + 1;
    return { ...attempt, page: sameRows, limit: usual, refused: 'fewer', refusals: 2 };
  }
  if (smaller !== undefined && (isRefused || (isTimeout(error) && limit > SMALL_PAGE)))
    return { ...attempt, limit: smaller, refused: isRefused ? 'more' : undefined };
  return isHasty(attempt, asked) && isKind(error, 'unavailable') ? { ...attempt, patient: true } : null;
}

async function fetchOnce(
  question: ListQuery,
  { page, limit, refused, bare }: Attempt,
  hasty: boolean,
): Promise<Admitted> {
  const { reader, task, query } = question;
  const { resource } = task;
  const answers = bare ? null : question.known;
  const before = answers?.at(page, limit);
  const recalled = answers ? { seed: answers.seed, digest: before?.digest } : undefined;
  const answer = await request(question, bare ? {} : { page, limit }, hasty, recalled);
  const { grantedAt, requests } = answer;
  const came = { grantedAt, requests, limit, page, refused };
  if (answer.kind === 'rows') {
    const { rows, replaced, unordered, digest, reread } = answer;
    const given = { isFiltered: isFiltered(query) };
    const meta = believedMeta(resource.profile, answer.meta, given);
    const promised = promisedPages(resource.profile, answer.meta, given);
    const mark = answers && digest !== undefined ? { query: answers.query, digest } : undefined;
    const shown = { ...came, meta, promised, replaced, unordered, mark };
    if (before === undefined || reread === undefined) return { ...shown, rows, before };
    return { ...shown, rows: before.keys.map(key => ({ [resource.job.key]: key })), known: { ...before, reread } };
  }
  // 404 past the end, or for a filter that matches nothing, means no rows; so it does of a list that has lost them all.
  const isEmptied = !holdsNothing(resource) && reader.othersAnswering(resource, stampMs(grantedAt)).length > 0;
  if (page > 1 || isFiltered(query) || isEmptied) return { ...came, rows: [], meta: undefined, isGone: true };
  throw unanswered(resource);
}

/**
 * An answer of a part of the list, such as the address of one row, was an error. Returns how many requests it took until the list itself answered,
 * so that the error is of that part alone, even if it says that the key is wrong. Throws if the list does not answer.
 */
export async function fetchListInstead(reader: Reader, task: Task, error: SluiceError): Promise<number> {
  const question: ListQuery = { reader, task, slice: { by: 'newest' }, query: {} };
  const address = { page: 1, limit: firstLimit(reader, task.resource), flexible: true };
  const answer = await fetchPage(question, address).catch((cause: unknown) => {
    throw stopsSource(error) || stopsSource(cause) ? cause : error;
  });
  answer.release();
  return answer.requests;
}

export const isFiltered = (query: ListQuery['query']): boolean => Object.keys(query).length > 0;

/** `hasty`: give up after two attempts. */
const request = (
  { reader, task, slice, query }: ListQuery,
  ask: { page?: number; limit?: number },
  hasty: boolean,
  recalled?: Parameters<Client['list']>[4],
): Promise<ListAnswer> =>
  reader.client.list(
    task.resource.job.path,
    query,
    ask,
    {
      lane: task.lane,
      purpose: `${task.resource.name} ${sliceText(slice)}`,
      runId: task.runId,
      signal: reader.signal,
      ...(hasty ? { attempts: 2 } : {}),
    },
    recalled,
  );

/** Asks for pages that are not kept, or in the place of another, so that they need not wait for others to be committed. */
export const withoutWaiting = (question: ListQuery): ListQuery => ({
  ...question,
  reader: { ...question.reader, admit: async ask => ({ value: await ask(), release: () => undefined }) },
});

/** Replaces the answer with another, in its place, and counts the requests of both. */
export async function replacing(
  question: ListQuery,
  answer: PageAnswer,
  fetchAgain: (question: ListQuery) => Promise<PageAnswer>,
): Promise<PageAnswer> {
  const again = await fetchAgain(withoutWaiting(question));
  return { ...again, release: answer.release, requests: answer.requests + again.requests };
}
