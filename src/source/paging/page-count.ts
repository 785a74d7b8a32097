/** The readable fields of a list answer's `meta`; an answer without any is not counted. `totalPages` only with `totalRecords`: pages alone do not show that rows slipped from one to another. */
export interface Meta {
  currentPage?: number;
  totalPages?: number;
  totalRecords?: number;
}

export function readMeta(value: unknown): Meta | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const meta = value as Record<string, unknown>;
  const totalRecords = count(meta.total_records);
  const counts = {
    currentPage: count(meta.current_page),
    totalPages: totalRecords === undefined ? undefined : count(meta.total_pages),
    totalRecords,
  };
  const known = Object.entries(counts).filter(([, number]) => number !== undefined);
  return known.length > 0 ? (Object.fromEntries(known) as Meta) : undefined;
}

/** No list is longer, and the books count in 32 bits. */
const MOST_ROWS = 2 ** 31 - 1;

/** A number may also come as a string of digits; anything else, and what no list counts, is absent. */
function count(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= MOST_ROWS
    ? number
    : undefined;
}

/** Row counts at which sources are known to cut an answer off without saying so. */
export const COMMON_CAPS: readonly number[] = [20, 50, 100, 200, 250, 500, 1000, 2500];

/** A list that claims more pages is at fault. */
export const MAX_PAGES = 100_000;

/**
 * The pages a list has by its own count; null where it gives none. `rows`: rows of its first page, 0 where unknown.
 * A source that counts pages by another size than it returns is believed by its rows.
 */
export function countPages(meta: Meta | undefined, rows: number, maxPages = MAX_PAGES): number | null {
  if (meta?.totalPages === undefined) return null;
  const byRows = meta.totalRecords !== undefined && rows > 0 ? Math.ceil(meta.totalRecords / rows) : meta.totalPages;
  return Math.min(Math.max(meta.totalPages, meta.totalPages === 1 ? 1 : byRows), maxPages);
}

/** So many pages in a row that bring nothing end a list, whatever follows by its count. */
export const MOST_FRUITLESS_PAGES = 10;

/** The source's count says that this page has rows. */
export const countPromises = (meta: Meta | undefined, page: number): boolean =>
  (meta?.totalRecords ?? 0) > 0 && page <= (meta?.totalPages ?? 1);
