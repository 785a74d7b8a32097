import { isKind, SluiceError } from '../../../src/errors.ts';
import { isTimeout } from '../../../src/source/client.ts';
import type { Asker } from '../requests/requester.ts';
import type { Answer, Question, Row } from '../requests/send-request.ts';
import { LIST_NAMES, type ListName, pathOf } from './documented-lists.ts';

/** What a list showed of itself. */
export interface Seen {
  readonly name: ListName;
  /** Its first page, at the greatest limit that is taken. */
  readonly first: Answer;
  readonly rows: readonly Row[];
  readonly total: number | undefined;
  /** The `limit` it was asked for: what it takes without complaint. */
  readonly limit: number;
  /** The least limit that was too much for it. */
  readonly tooMuch: TooMuch | null;
  /** Page 2 at five rows a page; null where there is none to ask for. */
  readonly second: Answer | null;
}

export interface TooMuch {
  readonly limit: number;
  /** What came of it. */
  readonly what: string;
}

export interface Lists {
  /** Those that answered with rows, or with none. */
  readonly offered: readonly Seen[];
  readonly notOffered: readonly Missing[];
  /** Those that came to no answer however often they were asked. */
  readonly failed: readonly Failed[];
}

interface Missing {
  readonly name: ListName;
  readonly answer: Answer;
}

interface Failed {
  readonly name: ListName;
  readonly what: string;
}

/** To come down by where a list refuses what it is asked for, or takes too long over it, as Sluice does. */
const LIMITS = [1000, 100, 20];
/** A time-out at no more than this has another reason. */
const ENOUGH = 100;
export const FEW = 5;
/** A count is off by so few when rows came or went meanwhile. */
const A_LITTLE = 3;

/**
 * Two requests a list: its first page, and its second one at another limit where a second one could tell more. Kinds:
 * `unauthorized` for a wrong key, `unavailable` where customers cannot be read at all, `stopped` once the signal is aborted.
 */
export async function readLists(asker: Asker, signal?: AbortSignal): Promise<Lists> {
  const lists = { offered: [] as Seen[], notOffered: [] as Missing[], failed: [] as Failed[] };
  const customers = await readCustomers(asker);
  for (const name of LIST_NAMES) {
    goOn(signal);
    try {
      // What is too much for customers is not tried on every other list.
      const page = name === 'customers' ? customers : await comeDown(asker, name, customers.limit);
      if (page.first.verdict.kind === 'success') lists.offered.push(await lookTwice(asker, name, page));
      else lists.notOffered.push({ name, answer: page.first });
    } catch (error) {
      if (!isKind(error, 'unavailable')) throw error;
      lists.failed.push({ name, what: error.message });
    }
  }
  return lists;
}

/** Kind `stopped` once the signal is aborted. */
export function goOn(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new SluiceError('stopped', 'it was stopped on request');
}

type FirstPage = Pick<Seen, 'first' | 'limit' | 'tooMuch'>;

async function lookTwice(asker: Asker, name: ListName, page: FirstPage): Promise<Seen> {
  const { first, limit } = page;
  const { rows = [], meta, count } = first;
  const seen = { ...page, name, rows, total: meta?.totalRecords };
  if (rows.length === 0 || count === seen.total) return { ...seen, second: null };
  const query = { page: 2, limit: FEW };
  const second = await asker.ask(pathOf(name), { query, doubt: contradiction(first) });
  if (meta || !second.meta) return { ...seen, second };
  // One of the two was not what the list is.
  const again = await firstPage(asker, name, limit);
  if (again.meta) asker.note({ fault: 'missing-meta', asked: `GET ${pathOf(name)}` });
  return { ...seen, first: again, rows: again.rows ?? rows, total: again.meta?.totalRecords, second };
}

function firstPage(asker: Asker, name: ListName, limit: number): Promise<Answer> {
  return asker.ask(pathOf(name), { query: { page: 1, limit }, doubt: contradiction() });
}

/** The first page of a list, at the greatest limit that it takes. */
async function comeDown(asker: Asker, name: ListName, from: number): Promise<FirstPage> {
  let tooMuch: TooMuch | null = null;
  for (let limit = from; ; ) {
    const smaller = LIMITS.find(each => each < limit);
    try {
      const first = await firstPage(asker, name, limit);
      if (!mayRefuseLimit(first) || smaller === undefined) return { first, limit, tooMuch };
      tooMuch = { limit, what: refusedWith(first) };
    } catch (error) {
      if (!isTimeout(error) || smaller === undefined || limit <= ENOUGH) throw error;
      tooMuch = { limit, what: 'is not answered in time' };
    }
    limit = smaller;
  }
}

/** HTTP 405 says that the list is not there. */
const mayRefuseLimit = ({ verdict, status }: Answer): boolean => verdict.kind === 'refused' && status !== 405;
const refusedWith = ({ status }: Answer): string => `is refused with HTTP ${status}`;

/** Makes sure that the limit is the greatest. */
async function readCustomers(asker: Asker): Promise<FirstPage> {
  const page = await comeDown(asker, 'customers', LIMITS[0] as number);
  mustAnswer(page.first);
  if (page.tooMuch === null) return page;
  const limit = page.limit + 1;
  const above = await asker.ask(pathOf('customers'), { query: { page: 1, limit } });
  return above.verdict.kind === 'refused' ? { ...page, tooMuch: { limit, what: refusedWith(above) } } : page;
}

/** Without customers, which every installation has, nothing that follows would tell anything. */
function mustAnswer({ verdict, status }: Answer): void {
  if (verdict.kind === 'unauthorized')
    throw new SluiceError('unauthorized', `The source refuses the key: ${verdict.message}`, {
      next: 'Check the key: in the source, Settings → API Access. A key for the query form needs --auth query.',
    });
  if (verdict.kind === 'success') return;
  const what = verdict.kind === 'retry' ? verdict.what : `HTTP ${status}`;
  throw new SluiceError('unavailable', `GET /api/v2/customers: ${what}.`, {
    next: 'Check that the source is up, and that --url is its address before /api/v2.',
  });
}

/** A page of a list where rows are known to be there: none at all is asked for once more. */
export function askSome(asker: Asker, name: ListName, query: Record<string, string | number>): Promise<Answer> {
  const sound = contradiction();
  return asker.ask(pathOf(name), {
    query,
    doubt: answer => sound(answer) ?? (answer.rows?.length === 0 ? 'empty-list-zero' : null),
  });
}

/** How many rows the list counts under a filter; undefined where it does not say. */
export async function askCount(asker: Asker, seen: Seen, query: Record<string, string>): Promise<number | undefined> {
  const answer = await asker.ask(pathOf(seen.name), {
    query: { ...query, page: 1, limit: 1 },
    doubt: contradiction(seen.first),
  });
  return answer.verdict.kind === 'success' ? answer.meta?.totalRecords : undefined;
}

/** What is wrong with a page in itself, or beside an earlier page of the same list. */
export function contradiction(earlier?: Answer): NonNullable<Question['doubt']> {
  return ({ rows = [], count, meta }) => {
    const ids = rows.map(row => row.id).filter(id => id !== undefined && id !== null);
    if (new Set(ids).size < ids.length) return 'row-twice';
    if (earlier?.meta && !meta) return 'missing-meta';
    const { currentPage = 1, totalPages, totalRecords } = meta ?? {};
    if (totalPages === undefined || totalRecords === undefined || currentPage > totalPages) return null;
    if (count === 0) return totalRecords > 0 ? 'empty-list' : earlier?.count ? 'empty-list-zero' : null;
    const full = currentPage < totalPages;
    const sound = full ? Math.ceil(totalRecords / count) === totalPages : totalPages > 1 || count === totalRecords;
    if (sound) return null;
    return Math.abs(totalRecords - count * totalPages) <= A_LITTLE ? 'moved-total' : 'rows-missing';
  };
}
