import { isKind, SluiceError } from '../../../src/errors.ts';
import { isTimeout } from '../../../src/source/client.ts';
import type { Requester } from '../requests/requester.ts';
import type { Answer, Row } from '../requests/send-request.ts';
import { LIST_NAMES, type ListName, pathOf } from './documented-lists.ts';
import { pageFault } from './page-fault.ts';

/** What one list returned. */
export interface ListReading {
  readonly name: ListName;
  /** Its first page, at the largest accepted limit. */
  readonly first: Answer;
  readonly rows: readonly Row[];
  readonly total: number | undefined;
  /** The largest accepted `limit`. */
  readonly limit: number;
  /** The smallest limit that was rejected. */
  readonly rejectedLimit: RejectedLimit | null;
  /** Page 2 at five rows per page; null if there is no such page. */
  readonly second: Answer | null;
}

export interface RejectedLimit {
  readonly limit: number;
  /** How it was rejected. */
  readonly outcome: string;
}

export interface ListReadings {
  /** Lists that answered, with or without rows. */
  readonly offered: readonly ListReading[];
  readonly notOffered: readonly MissingList[];
  /** Lists without an answer after all retries. */
  readonly failed: readonly FailedList[];
}

export interface MissingList {
  readonly name: ListName;
  readonly answer: Answer;
}

interface FailedList {
  readonly name: ListName;
  readonly message: string;
}

/** Tried in order when a list rejects a limit or takes too long, as Sluice does. */
const LIMITS = [1000, 100, 20];
/** A timeout at this limit or below has another cause. */
const MAX_LIMIT_WITHOUT_BLAME = 100;
export const FEW = 5;

/**
 * Reads the first page of each list, and the second at another limit if it can tell more. Errors: `unauthorized` for an
 * invalid key, `unavailable` if customers cannot be read, `stopped` if the signal is aborted.
 */
export async function readLists(requester: Requester, signal?: AbortSignal): Promise<ListReadings> {
  const lists = { offered: [] as ListReading[], notOffered: [] as MissingList[], failed: [] as FailedList[] };
  const customers = await readCustomers(requester);
  for (const name of LIST_NAMES) {
    throwIfStopped(signal);
    try {
      // A limit that customers rejected is not tried on the other lists.
      const page = name === 'customers' ? customers : await readFirstPage(requester, name, customers.limit);
      if (page.first.verdict.kind === 'success') lists.offered.push(await readSecondPage(requester, name, page));
      else lists.notOffered.push({ name, answer: page.first });
    } catch (error) {
      if (!isKind(error, 'unavailable')) throw error;
      lists.failed.push({ name, message: error.message });
    }
  }
  return lists;
}

/** Throws an error of kind `stopped` once the signal is aborted. */
export function throwIfStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new SluiceError('stopped', 'stopped on request');
}

type FirstPage = Pick<ListReading, 'first' | 'limit' | 'rejectedLimit'>;

async function readSecondPage(requester: Requester, name: ListName, page: FirstPage): Promise<ListReading> {
  const { first, limit } = page;
  const { rows = [], meta, count } = first;
  const reading = { ...page, name, rows, total: meta?.totalRecords };
  if (rows.length === 0 || count === reading.total || meta?.totalPages === 1) return { ...reading, second: null };
  const query = { page: 2, limit: FEW };
  const second = await requester.request(pathOf(name), { query, findFault: pageFault(name, first) });
  if (meta || !second.meta) return { ...reading, second };
  // Only one of the two pages has meta, so one of them had a fault.
  const again = await requestFirstPage(requester, name, limit);
  if (again.meta) requester.recordFault({ fault: 'missing-meta', request: `GET ${pathOf(name)}` });
  return { ...reading, first: again, rows: again.rows ?? rows, total: again.meta?.totalRecords, second };
}

function requestFirstPage(requester: Requester, name: ListName, limit: number): Promise<Answer> {
  return requester.request(pathOf(name), { query: { page: 1, limit }, findFault: pageFault(name) });
}

/** The first page of a list, at the largest accepted limit up to `from`. */
async function readFirstPage(requester: Requester, name: ListName, from: number): Promise<FirstPage> {
  let rejectedLimit: RejectedLimit | null = null;
  for (let limit = from; ; ) {
    const smaller = LIMITS.find(each => each < limit);
    try {
      const first = await requestFirstPage(requester, name, limit);
      if (!mayRejectLimit(first) || smaller === undefined) return { first, limit, rejectedLimit };
      rejectedLimit = { limit, outcome: rejectionOf(first) };
    } catch (error) {
      if (!isTimeout(error) || smaller === undefined || limit <= MAX_LIMIT_WITHOUT_BLAME) throw error;
      rejectedLimit = { limit, outcome: 'timed out' };
    }
    limit = smaller;
  }
}

/** HTTP 403 means that the key may not read the list, 405 that it does not exist. */
const mayRejectLimit = ({ verdict, status }: Answer): boolean =>
  verdict.kind === 'refused' && status !== 403 && status !== 405;
const rejectionOf = ({ status }: Answer): string => `is rejected with HTTP ${status}`;

/** Also checks that the limit is the largest accepted one. */
async function readCustomers(requester: Requester): Promise<FirstPage> {
  const page = await readFirstPage(requester, 'customers', LIMITS[0] as number);
  assertAnswered(page.first);
  if (page.rejectedLimit === null) return page;
  const limit = page.limit + 1;
  const above = await requester.request(pathOf('customers'), { query: { page: 1, limit } });
  return above.verdict.kind === 'refused' ? { ...page, rejectedLimit: { limit, outcome: rejectionOf(above) } } : page;
}

/** Every installation has customers; without them no other check would be meaningful. */
function assertAnswered({ verdict, status }: Answer): void {
  if (verdict.kind === 'unauthorized')
    throw new SluiceError('unauthorized', `The source rejects the key: ${verdict.message}`, {
      next: 'Check the key: in the source, Settings → API Access. A key in the query string needs --auth query.',
    });
  if (verdict.kind === 'success') return;
  const problem = verdict.kind === 'retry' ? verdict.what : `HTTP ${status}`;
  throw new SluiceError('unavailable', `GET /api/v2/customers: ${problem}.`, {
    next: 'Check that the source is up, and that --url is its address before /api/v2.',
  });
}

/** The rows that the list counts, without entries that are not objects: no filter matches those. */
export function countObjects({ total, first, rows }: ListReading): number | undefined {
  return total === undefined ? undefined : total - (first.count - rows.length);
}

/** Requests a page that must contain rows; an empty one is requested once more. */
export function requestRows(
  requester: Requester,
  name: ListName,
  query: Record<string, string | number>,
): Promise<Answer> {
  const faultOf = pageFault(name);
  return requester.request(pathOf(name), {
    query,
    findFault: answer => faultOf(answer) ?? (answer.rows?.length === 0 ? 'empty-list-zero' : null),
  });
}

/** The number of rows that the list counts under a filter; undefined if it has no count. */
export async function requestCount(
  requester: Requester,
  list: ListReading,
  query: Record<string, string>,
): Promise<number | undefined> {
  const answer = await requester.request(pathOf(list.name), {
    query: { ...query, page: 1, limit: 1 },
    findFault: pageFault(list.name, list.first),
  });
  return answer.verdict.kind === 'success' ? answer.meta?.totalRecords : undefined;
}
