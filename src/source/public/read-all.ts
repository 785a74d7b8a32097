import { hash } from 'node:crypto';
import { isKind, SluiceError } from '../../errors.ts';
import type { Meta } from '../answers/meta.ts';
import { isTimeout } from '../client.ts';

/** One page of a list. */
export interface Page<Row> {
  rows: Row[];
  /** As far as the source gives it: documented for customers only. */
  meta?: Meta;
}

/** Ten times fewer requests where it is honoured; a source that refuses much is asked for less. */
const PAGE_SIZES = [1000, 100, 20];
/** Where sources that do not page silently cut a list off. */
const COMMON_CAPS = [20, 50, 100, 200, 250, 500, 1000, 2500];

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
 * Page after page until the list ends: by its `meta`, by an empty page, or by one without anything new; never by a short one, since sources
 * give less than they are asked for. A row seen before, by its id, is not given again. Throws the kind `failed` where the answers themselves
 * show that rows are lacking, after the rows there were.
 */
export async function* readAll<Row extends object>(options: ReadAllOptions<Row>): AsyncGenerator<Row, void, undefined> {
  const { path, maxPages } = options;
  const first = await firstPage(options.ask, options.sizes);
  const known = createKnown();
  for (let page = 1; page <= maxPages; page++) {
    const ask = () => options.ask(page, first.size);
    let came = page === 1 ? first.came : await ask();
    if (came.rows.length === 0 && promises(came.meta, page)) came = await ask();
    if (came.rows.length === 0) {
      if (promises(came.meta, page)) throw lacking(path, `page ${page} is empty, though the source counts more rows`);
      return;
    }
    const news = known.news(came.rows);
    if (news.length === 0) {
      const short = promises(came.meta, page) || (page === 2 && looksCut(first.came, first.size));
      if (short) throw lacking(path, `page ${page} brings nothing that was not there before`);
      return;
    }
    yield* news;
    if (came.meta?.totalPages && page >= came.meta.totalPages) return;
  }
  throw lacking(path, `page ${maxPages} is not the last, and no more than that are read`);
}

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

/** Whether the source says that this page has rows. */
function promises(meta: Meta | undefined, page: number): boolean {
  return (meta?.totalRecords ?? 0) > 0 && page <= (meta?.totalPages ?? 1);
}

/** A source that gives the same rows for every page, and as many as such a source may stop at. */
function looksCut({ rows, meta }: Page<unknown>, asked: number): boolean {
  return meta === undefined && (rows.length === asked || COMMON_CAPS.includes(rows.length));
}

/** What was given already: by id, and where rows have none by whole pages, since two equal rows are legal. */
function createKnown() {
  const ids = new Set<string>();
  const pages = new Set<string>();
  return {
    news<Row extends object>(rows: Row[]): Row[] {
      if (rows.every(row => idOf(row) !== undefined)) {
        return rows.filter(row => {
          const before = ids.size;
          return ids.add(String(idOf(row))).size > before;
        });
      }
      // In any order: some sources give rows of one day in another order each time.
      const page = hash('sha256', JSON.stringify(rows.map(row => JSON.stringify(row)).sort()));
      if (pages.has(page)) return [];
      pages.add(page);
      return rows;
    },
  };
}

function idOf(row: { id?: unknown }): string | undefined {
  return typeof row.id === 'string' || typeof row.id === 'number' ? String(row.id) : undefined;
}

function lacking(path: string, why: string): SluiceError {
  return new SluiceError('failed', `${path}: ${why}, so rows may be lacking.`, {
    next: 'Ask for less with filters, such as dates; list() gives single pages as they come.',
  });
}
