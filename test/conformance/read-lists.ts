import { isKind, SluiceError } from '../../src/errors.ts';
import type { Asker } from './ask.ts';
import { LIST_NAMES, type ListName, pathOf } from './lists.ts';
import type { Answer, Question, Row } from './send.ts';

/** What a list showed of itself. */
export interface Seen {
  readonly name: ListName;
  /** Its first page, at the greatest limit that is taken. */
  readonly first: Answer;
  readonly rows: readonly Row[];
  readonly total: number | undefined;
  /** Page 2 at five rows a page; null where there is none to ask for. */
  readonly second: Answer | null;
}

export interface Lists {
  /** The `limit` that was asked for: what is taken without complaint. */
  readonly limit: number;
  /** The least limit that was refused, and how. */
  readonly refused: { readonly limit: number; readonly answer: Answer } | null;
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

/** As Sluice asks. */
const MUCH = 1000;
export const FEW = 5;
/** A count is off by so few when rows came or went meanwhile. */
const A_LITTLE = 3;

/**
 * Two requests a list: its first page, and its second one at another limit where a second one could tell more. Kinds:
 * `unauthorized` for a wrong key, `unavailable` where customers cannot be read at all, `stopped` once the signal is aborted.
 */
export async function readLists(asker: Asker, signal?: AbortSignal): Promise<Lists> {
  const { limit, refused, customers } = await greatestLimit(asker);
  const lists = { limit, refused, offered: [] as Seen[], notOffered: [] as Missing[], failed: [] as Failed[] };
  for (const name of LIST_NAMES) {
    goOn(signal);
    try {
      const first = name === 'customers' ? customers : await firstPage(asker, name, limit);
      if (first.verdict.kind === 'success') lists.offered.push(await lookTwice(asker, name, first, limit));
      else lists.notOffered.push({ name, answer: first });
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

async function lookTwice(asker: Asker, name: ListName, first: Answer, limit: number): Promise<Seen> {
  const { rows = [], meta } = first;
  const seen = { name, first, rows, total: meta?.totalRecords };
  if (rows.length === 0 || rows.length === seen.total) return { ...seen, second: null };
  const query = { page: 2, limit: FEW };
  const second = await asker.ask(pathOf(name), { query, doubt: contradiction(first) });
  if (meta || !second.meta) return { ...seen, second };
  // One of the two was not what the list is.
  const again = await firstPage(asker, name, limit);
  if (again.meta) asker.note({ fault: 'missing-meta', asked: `GET ${pathOf(name)}` });
  return { name, first: again, rows: again.rows ?? rows, total: again.meta?.totalRecords, second };
}

function firstPage(asker: Asker, name: ListName, limit: number): Promise<Answer> {
  return asker.ask(pathOf(name), { query: { page: 1, limit }, doubt: contradiction() });
}

/** Comes down until the limit is taken, then makes sure that it is the greatest. */
async function greatestLimit(asker: Asker): Promise<Pick<Lists, 'limit' | 'refused'> & { customers: Answer }> {
  let refused: Lists['refused'] = null;
  for (const limit of [MUCH, 100, 20]) {
    const customers = await firstPage(asker, 'customers', limit);
    if (customers.verdict.kind === 'refused') {
      refused = { limit, answer: customers };
      continue;
    }
    mustAnswer(customers);
    if (refused !== null) {
      const above = await asker.ask(pathOf('customers'), { query: { page: 1, limit: limit + 1 } });
      if (above.verdict.kind === 'refused') refused = { limit: limit + 1, answer: above };
    }
    return { limit, refused, customers };
  }
  throw new SluiceError('unavailable', `The source refuses GET /api/v2/customers: HTTP ${refused?.answer.status}`);
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
  return ({ rows = [], meta }) => {
    const ids = rows.map(row => row.id).filter(id => id !== undefined && id !== null);
    if (new Set(ids).size < ids.length) return 'row-twice';
    if (earlier?.meta && !meta) return 'missing-meta';
    const { currentPage = 1, totalPages, totalRecords } = meta ?? {};
    if (totalPages === undefined || totalRecords === undefined || currentPage > totalPages) return null;
    if (rows.length === 0) return totalRecords > 0 ? 'empty-list' : earlier?.rows?.length ? 'empty-list-zero' : null;
    const full = currentPage < totalPages;
    const sound = full
      ? Math.ceil(totalRecords / rows.length) === totalPages
      : totalPages > 1 || rows.length === totalRecords;
    if (sound) return null;
    return Math.abs(totalRecords - rows.length * totalPages) <= A_LITTLE ? 'moved-total' : 'rows-missing';
  };
}
