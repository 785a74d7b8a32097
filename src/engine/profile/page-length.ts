import { COMMON_CAPS } from '../../source/paging/page-count.ts';
import { MOST_TWICE } from './list-end.ts';
import type { ObservedPage } from './observed-page.ts';
import type { SourceProfile } from './source-profile.ts';

/**
 * The answer may have been cut off: it is as long as was asked for, or as a usual cap. False if the list once returned more rows
 * than this; for a usual cap, unless the slice itself held more before (`knownRows`): the source may have lowered its cap.
 */
export function looksCut(profile: SourceProfile, page: ObservedPage, knownRows: number): boolean {
  const shown = distinctRows(page);
  if (shown === page.limit && !profile.exceedsLimit) return true;
  return COMMON_CAPS.includes(shown) && (shown > profile.exceedsCap || shown < knownRows);
}

/** A row that comes twice must not make a full answer look longer than it is. Only near a cap it is worth comparing rows. */
export function distinctRows({ rows, limit }: ObservedPage): number {
  const isNearCap = [limit, ...COMMON_CAPS].some(cap => rows.length > cap && rows.length <= cap + MOST_TWICE);
  return isNearCap ? distinct(rows) : rows.length;
}

/** Rows of a full page. Rows that come twice, and some lists have equal rows, must not make it longer than was asked for or known. */
export const fullLength = ({ rows, limit }: ObservedPage, known: number | null): number =>
  Math.min(rows.length, Math.max(distinct(rows), known ?? limit));

export const hasMoreRowsThan = (known: number, { rows }: ObservedPage): boolean =>
  rows.length > known && distinct(rows) > known;

/** How many different rows these are. */
export const distinct = (rows: readonly unknown[]): number => new Set(rows.map(row => JSON.stringify(row))).size;

/** False when the page shows fewer rows than its own count says it has: then nothing follows from a row that it lacks. */
export function isFull(profile: SourceProfile, { rows, meta, page, limit }: ObservedPage): boolean {
  const { totalPages, totalRecords } = meta ?? {};
  if (totalPages === undefined || totalRecords === undefined) return true;
  if (rows.length === 0) return page > totalPages || totalRecords === 0;
  if (reachesCount(profile, { rows: rows.length, meta, page, limit })) return true;
  // The only page holds all rows, whatever its size.
  if (totalPages === 1 && page === 1) return rows.length >= totalRecords;
  if (page < totalPages) return rows.length * totalPages >= totalRecords;
  // The last page holds what the others leave over.
  const sizes = sizesOfPages(profile, limit);
  const fitting = sizes.filter(size => totalPages === Math.ceil(totalRecords / size));
  if (fitting.length === 0 || page > totalPages) return true;
  return fitting.some(size => rows.length >= totalRecords - (page - 1) * size);
}

/**
 * The page ends with as many rows as the list is counted with, though its pages are counted one too many or too few. Rows before a later page are
 * known where no more are asked for than the source was seen to show.
 */
export function reachesCount(
  { pageSize }: SourceProfile,
  { rows, meta, page, limit }: Pick<ObservedPage, 'meta' | 'page' | 'limit'> & { readonly rows: number },
): boolean {
  const { totalPages, totalRecords } = meta ?? {};
  if (totalPages === undefined || totalRecords === undefined || rows >= limit) return false;
  if (page === 1) return rows === totalRecords && totalPages <= 2;
  const isNear = Math.abs(totalPages - Math.ceil(totalRecords / limit)) <= 1;
  return isNear && limit <= (pageSize ?? 0) && (page - 1) * limit + rows === totalRecords;
}

/** What pages hold: what was asked for, or less where the source keeps to less; where it ignores the limit, what it keeps to. */
function sizesOfPages({ pageSize, limit: honours }: SourceProfile, limit: number): number[] {
  const own = pageSize ?? limit;
  if (honours === 'ignored') return [own];
  return own < limit ? [limit, own] : [limit];
}

/**
 * A source that ignores the limit returns more than was asked for, counts its pages by another size, or leaves over for the last
 * page what another size leaves.
 */
export function keepsOwnSize(profile: SourceProfile, observed: ObservedPage): boolean {
  const { meta, rows, page, limit } = observed;
  // The first page may be the whole body of a list that ignores pages.
  const isPart = page > 1 || profile.paging === 'until empty';
  if (isPart && hasMoreRowsThan(limit, observed)) return true;
  const { totalPages, totalRecords } = meta ?? {};
  const size = profile.pageSize ?? 0;
  if (totalPages === undefined || totalRecords === undefined || limit >= size) return false;
  const fits = (each: number) =>
    totalPages === Math.ceil(totalRecords / each) &&
    (page === 1 || page !== totalPages || rows.length === totalRecords - (page - 1) * each);
  return !fits(limit) && fits(size);
}
