import { countPages, type Meta } from '../../../source/paging/page-count.ts';
import type { ListOrder } from '../../profile/observation.ts';
import { orderOfIds } from '../../profile/observe-order.ts';
import { idBeside, openAtLast } from '../../slices/id-ranges.ts';
import type { IdSlice } from '../../slices/slice.ts';

/** A page of a list ordered by id, as far as its place in the list depends on it. */
export interface AddressedPage {
  readonly page: number;
  readonly limit: number;
  readonly rows: number;
  /** The ids of all rows, also of those that do not parse; null where one cannot be read, or their order is unknown. */
  readonly ids: readonly bigint[] | null;
  readonly meta: Meta | undefined;
  /** The page has all rows that its own count says it has. */
  readonly isFull: boolean;
  /** It ends with as many rows as the list is counted with; see `reachesCount`. */
  readonly reachesCount?: boolean;
  /** It is empty, and a page behind it is not. */
  readonly isGap?: boolean;
}

/** Where a page lies in its list. */
export interface Place {
  /** The ids it proves; null when it proves nothing. */
  readonly interval: IdSlice | null;
  readonly order: ListOrder | null;
  readonly first: bigint | null;
  readonly last: bigint | null;
  /** Rows of the list before its first and its last row. */
  readonly firstOffset: number;
  readonly lastOffset: number;
  /** Rows and pages of the list by its own count. */
  readonly total: number | null;
  readonly pages: number | null;
  /** It shows that the list ends with the last row of the page before. */
  readonly endsPrevious: boolean;
  /** Its last row is the last of the list. */
  readonly isEnd: boolean;
}

/**
 * Where a page lies, and which ids it proves. `neighbour`: the page before it where pages cannot be made to overlap;
 * `previous`: the page before it in any case.
 */
export function placePage(
  page: AddressedPage,
  known: ListOrder | null,
  neighbour: Place | null = null,
  previous: Place | null = null,
): Place {
  const { ids, meta } = page;
  // A source that keeps to its own page size counts its pages by it.
  const firstOffset = (page.page - 1) * Math.max(page.limit, page.rows);
  const base = {
    order: ids === null ? ('none' as const) : orderOfIds(ids, known),
    firstOffset,
    lastOffset: firstOffset + page.rows - 1,
    total: meta?.totalRecords ?? null,
    pages: countPages(meta, page.page === 1 || page.rows === page.limit ? page.rows : 0),
    endsPrevious: false,
    isEnd: false,
  };
  if (previous?.interval && endsBehind(previous, page, base)) {
    const { last } = previous;
    const interval: IdSlice =
      known === 'id-asc' ? { by: 'id', from: last, to: null } : { by: 'id', from: null, to: openAtLast(last) };
    return { ...base, order: known, interval, first: last, last, endsPrevious: true, isEnd: true };
  }
  if (ids === null || ids.length === 0) {
    const isEmptyList = page.page === 1 && page.rows === 0 && !page.isGap && (meta?.totalRecords ?? 0) === 0;
    return { ...base, interval: isEmptyList ? { by: 'id', from: null, to: null } : null, first: null, last: null };
  }
  const first = ids[0] as bigint;
  const last = ids.at(-1) as bigint;
  if (base.order === 'none' || base.order === 'updated-desc' || !page.isFull)
    return { ...base, interval: null, first, last };
  const isAscending = base.order === 'id-asc';
  const top = page.page === 1 ? null : (idBehind(neighbour, base, { first, isAscending }) ?? first);
  const isEnd = isLastByCount(page, base);
  const bottom = isEnd ? null : last;
  const interval: IdSlice = isAscending
    ? { by: 'id', from: top, to: openAtLast(bottom) }
    : { by: 'id', from: bottom, to: openAtLast(top) };
  return { ...base, interval, first, last, isEnd };
}

type Offsets = Pick<Place, 'firstOffset' | 'total' | 'pages'>;

/** Past its end, a list without a count shows nothing, or its last page again. */
function endsBehind(
  previous: Place,
  { ids, rows, limit, isGap }: AddressedPage,
  { firstOffset, total, pages }: Offsets,
): boolean {
  if (isGap || ids === null || previous.last === null || total !== null || pages !== null) return false;
  if (firstOffset > previous.firstOffset + limit) return false;
  return ids.length === 0 || (rows < limit && ids.at(-1) === previous.last && ids[0] === previous.first);
}

/**
 * Pages of a fixed size meet without overlap: while the list keeps its length, nothing lies between two that follow each other. Null for the last page
 * shown again behind the end.
 */
function idBehind(
  neighbour: Place | null,
  base: Offsets,
  { first, isAscending }: { readonly first: bigint; readonly isAscending: boolean },
): bigint | null {
  if (neighbour === null || !meets(neighbour, base)) return null;
  const next = idBeside(neighbour.last as bigint, isAscending ? 1n : -1n);
  return next !== null && (isAscending ? next <= first : next >= first) ? next : null;
}

const meets = (neighbour: Place, { firstOffset, total }: Offsets): boolean =>
  neighbour.last !== null && total !== null && neighbour.total === total && neighbour.lastOffset + 1 === firstOffset;

/** A page as long as asked for that ends behind all rows that the list is counted with is not its last: the count is old, or of others. */
export const exceedsCount = (
  { rows, limit }: Pick<AddressedPage, 'rows' | 'limit'>,
  { lastOffset, total }: Pick<Place, 'lastOffset' | 'total'>,
): boolean => total !== null && lastOffset + 1 > total && rows >= limit;

function isLastByCount(
  { page, rows, limit, meta, reachesCount = false }: AddressedPage,
  { lastOffset, total, pages }: Offsets & Pick<Place, 'lastOffset'>,
): boolean {
  if (total === null) return pages !== null && page >= pages;
  const shown = lastOffset + 1;
  // A source may count its pages by another size than it was asked for. What it promises behind this one is asked for.
  const isLast = reachesCount || shown === total || page >= (meta?.totalPages ?? 1);
  return shown >= total && isLast && !exceedsCount({ rows, limit }, { lastOffset, total });
}

/** By how many rows the count is off, if the page lacks rows that it promises; else undefined. `before`: rows known to lie before it. */
export function miscountOf(
  { rows, limit, page, isFull }: AddressedPage,
  { firstOffset, total, pages }: Place,
  before: number,
): number | undefined {
  if (total === null || (isFull && page === pages) || rows >= limit) return undefined;
  // An empty page may lie far behind the end.
  const shown = rows === 0 ? Math.min(before, firstOffset) : firstOffset + rows;
  return shown < total ? total - shown : undefined;
}

/** Not as long as asked for, where nothing tells how long the list is: the list may end here. */
export const mayBeLast = ({ total, pages }: Place, { rows, limit }: Pick<AddressedPage, 'rows' | 'limit'>): boolean =>
  total === null && pages === null && rows > 0 && rows !== limit;

/** A range that begins with this id begins behind the last row of the page. */
export const beginsBehind = ({ last }: Place, start: bigint | null, isDescending: boolean): boolean =>
  start !== null && last !== null && (isDescending ? start < last : start > last);

/** The page proves everything up to the end of the range. */
export function reachesEnd({ interval }: Place, range: IdSlice, isDescending: boolean): boolean {
  if (!interval) return false;
  const reached = isDescending ? interval.from : interval.to;
  const end = isDescending ? range.from : range.to;
  if (reached === null) return true;
  return end !== null && (isDescending ? reached <= end : reached >= end);
}
