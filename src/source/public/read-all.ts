import { hash } from 'node:crypto';
import { isKind, SluiceError } from '../../errors.ts';
import { isTimeout } from '../client.ts';
import { COMMON_CAPS, type Meta } from '../paging/page-count.ts';
import { type PageVerdict, startPager } from '../paging/pager.ts';
import { isContentKey } from '../paging/row-key.ts';
import { takePage } from '../paging/take-page.ts';

/** One page of a list. */
export interface Page<Row> {
  rows: Row[];
  /** As far as the source gives it: documented for customers only. */
  meta?: Meta;
}

/** Ten times fewer requests where 1000 is honoured; a source that refuses so many is asked for fewer. */
const PAGE_SIZES = [1000, 100, 20, 10];

export interface ReadAllOptions<Row> {
  /** Path of the list, for messages. */
  path: string;
  ask: (page: number, limit: number) => Promise<Page<Row>>;
  /** Page sizes to try, the greatest first. */
  sizes: readonly number[];
  maxPages: number;
}

/** Sizes to try: the one that is wanted, or those up to what the list has taken before. */
export function pageSizes(wanted: number | undefined, taken = Number.POSITIVE_INFINITY): readonly number[] {
  return wanted === undefined ? PAGE_SIZES.filter(size => size <= taken) : [wanted];
}

/**
 * Yields the rows page after page until the list ends: by its own count, by an empty page, or by one without new rows. A row seen
 * before, by its id, is not yielded again. Throws the kind `failed`, after the rows that came, where the answers show that rows
 * are missing.
 */
export async function* readAll<Row extends object>(options: ReadAllOptions<Row>): AsyncGenerator<Row, void, undefined> {
  const { path, maxPages } = options;
  const first = await firstPage(options.ask, options.sizes);
  let pager = startPager({ count: 'each', maxPages, maxPagesOfSlice: maxPages });
  for (let { came } = first; ; came = await options.ask(pager.page, first.size)) {
    const { page } = pager;
    const keys = keysOf(came.rows);
    const looksCut = page === 2 && mayBeCut(first.came, first.size);
    const taken = takePage(pager, { page, rows: keys.length, keys, meta: came.meta }, { ...CONTEXT, looksCut });
    pager = taken.pager;
    yield* freshRows(came.rows, taken.fresh);
    switch (taken.verdict.kind) {
      case 'more':
      case 'ask again':
        continue;
      case 'end of list':
        return;
      default:
        throw missingRows(path, taken.verdict);
    }
  }
}

/** Nothing is known of the list but what this reading shows. */
const CONTEXT = { isSingleBody: false, fullPage: Number.POSITIVE_INFINITY, mayLackIds: false, canCut: false };

async function firstPage<Row>(
  ask: ReadAllOptions<Row>['ask'],
  sizes: readonly number[],
): Promise<{ came: Page<Row>; size: number }> {
  const [size = 20, ...smaller] = sizes;
  try {
    return { came: await ask(1, size), size };
  } catch (error) {
    if (smaller.length === 0 || !mayBeTooMuch(error)) throw error;
    return firstPage(ask, smaller);
  }
}

function mayBeTooMuch(error: unknown): boolean {
  if (isTimeout(error)) return true;
  return isKind(error, 'refused') && (error.fields === undefined || 'limit' in error.fields);
}

/** A single body without a count, as long as sources are known to stop at. */
const mayBeCut = ({ rows, meta }: Page<unknown>, asked: number): boolean =>
  meta === undefined && (rows.length === asked || COMMON_CAPS.includes(rows.length));

/**
 * What tells rows apart: their ids, each once. Where any row lacks its id the page as a whole, in any order: two equal rows are
 * legal, and some sources return the rows of one day in another order each time.
 */
function keysOf(rows: readonly object[]): string[] {
  const ids = rows.map(idOf);
  if (ids.every(id => id !== undefined)) return [...new Set(ids)];
  return [`#${hash('sha256', JSON.stringify(rows.map(row => JSON.stringify(row)).sort()))}`];
}

/** The rows that the keys stand for: those with such an id, each once, or a page without ids as a whole. */
function freshRows<Row extends object>(rows: readonly Row[], fresh: readonly string[]): readonly Row[] {
  if (fresh.some(isContentKey)) return rows;
  const wanted = new Set(fresh);
  return rows.filter(row => wanted.delete(idOf(row) ?? ''));
}

function idOf(row: { id?: unknown }): string | undefined {
  return typeof row.id === 'string' || typeof row.id === 'number' ? String(row.id) : undefined;
}

function missingRows(path: string, verdict: PageVerdict): SluiceError {
  return new SluiceError('failed', `${path}: ${reasonOf(verdict)}, so rows may be missing.`, {
    next: 'Ask for less with filters, such as dates; list() returns single pages as they come.',
  });
}

function reasonOf(verdict: PageVerdict): string {
  switch (verdict.kind) {
    case 'lacking':
      return verdict.isEmpty
        ? `page ${verdict.page} is empty, though the source counts more rows`
        : `page ${verdict.page} has no new rows, though the source counts more`;
    case 'too many pages':
      return `the list has not ended after ${verdict.pages} pages, the most that are read`;
    default:
      return 'page 2 shows page 1 again, which is as long as sources cut a list off at';
  }
}
