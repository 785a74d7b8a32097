import { addressFor } from '../../slices/id-ranges.ts';
import type { AddressedPage, Place } from './place-page.ts';
import { beginsBehind, exceedsCount, mayBeLast } from './place-page.ts';

/**
 * Looks for the page that holds the start of an id range, as a state machine without I/O: `addressOf` says which page to ask
 * for, `missOf` how far the answer is from the start, `afterPage` what follows.
 */
export interface Search {
  /** The first id of the range in the order of the list; null where the range begins with the list. */
  readonly start: bigint | null;
  readonly isDescending: boolean;
  /** Rows a page, by which addresses are counted. */
  readonly size: number;
  /** Rows to ask for on the first page. */
  readonly limit: number;
  /** The page size is known. */
  readonly isSized: boolean;
  /** Place in the list to ask for. */
  readonly offset: number;
  /** The source turns pages of its own size, whatever is asked for. */
  readonly isFixed: boolean;
  readonly corrections: number;
  /** The last page that held rows. */
  readonly previous: Place | null;
  /** An offset at which the list is known to have ended. */
  readonly pastEnd: number;
  /** Default: none is known. */
  readonly known?: KnownAddress | undefined;
}

/** The address of an answer that came before and shows the row at this offset and at least so many behind it, if there is one. */
type KnownAddress = (offset: number, more: number) => PageAddress | undefined;

/** Pages that lie elsewhere are corrected this often before the loop decides afresh; each is kept, so nothing is wasted. */
const MAX_CORRECTIONS = 5;

export interface PageAddress {
  readonly page: number;
  readonly limit: number;
}

export function addressOf({ offset, isFixed, size, limit, known }: Search): PageAddress {
  if (isFixed) return { page: Math.floor(offset / size) + 1, limit: size };
  return offset === 0 ? { page: 1, limit } : addressBehind(offset, size, known);
}

/** What came before is asked for again, as it may come again; as long as it takes no more requests than other pages. */
function addressBehind(offset: number, size: number, known: KnownAddress | undefined): PageAddress {
  const before = known?.(offset, Math.floor(0.75 * size));
  const { page, limit } = before && before.limit <= size ? before : addressFor(offset, size);
  return { page, limit };
}

const isSameAddress = (a: PageAddress, b: PageAddress): boolean => a.page === b.page && a.limit === b.limit;

/** How the page misses the start of the range. Between the two ids lie as many rows of the list as are stored, about. */
export type Miss =
  | { readonly kind: 'elsewhere'; readonly offset: number }
  | { readonly kind: 'too late' | 'too early'; readonly between: readonly [bigint, bigint] };

/** Null where the page holds the start of the range, or nothing is left to correct. */
export function missOf(search: Search, place: Place, page: AddressedPage): Miss | null {
  if (search.corrections >= MAX_CORRECTIONS || place.order === 'none') return null;
  const { start, isDescending } = search;
  const { first, last, firstOffset, lastOffset, total } = place;
  if (first === null || last === null)
    return firstOffset > 0 && total !== 0
      ? { kind: 'elsewhere', offset: Math.max((total ?? firstOffset) - 1, 0) }
      : null;
  if (start === null) return firstOffset > 0 ? { kind: 'elsewhere', offset: 0 } : null;
  const isBefore = isDescending ? start > first : start < first;
  const isBehind = beginsBehind(place, start, isDescending);
  if (isBehind && mayBeLast(place, page)) return null;
  if (isBefore && firstOffset > 0) return { kind: 'too late', between: [first, start] };
  const isEnd = total !== null && lastOffset >= total - 1 && !exceedsCount(page, place);
  return isBehind && !isEnd ? { kind: 'too early', between: [start, last] } : null;
}

/** The offset to ask for instead; null where there is none. `between`: rows stored between the ids of the miss. */
export function offsetAfter(search: Search, place: Place, miss: Miss | null, between: number): number | null {
  if (miss === null) return null;
  const { firstOffset, lastOffset } = place;
  const wanted =
    miss.kind === 'elsewhere'
      ? miss.offset
      : miss.kind === 'too late'
        ? Math.max(firstOffset - between - 1, 0)
        : lastOffset + Math.max(between - 1, 0);
  const offset = wanted >= search.pastEnd ? lastOffset : wanted;
  // What begins behind this page is reached with the next: pages of a fixed size do not overlap, and a page may be shorter than its size.
  const next = { ...search, offset };
  return isSameAddress(addressOf(next), addressOf(search)) ? null : offset;
}

export type SearchStep =
  | { readonly kind: 'ask'; readonly search: Search }
  /** The page holds the start of the range, or is the nearest to it. */
  | { readonly kind: 'found'; readonly search: Search }
  /** Nothing more can be concluded here. */
  | { readonly kind: 'stop' };

/** `offset`: from `offsetAfter`. */
export function afterPage(
  search: Search,
  place: Place,
  page: AddressedPage,
  { offset, isLimitHonoured }: { offset: number | null; isLimitHonoured: boolean },
): SearchStep {
  const corrections = search.corrections + 1;
  const isPastEnd = page.rows === 0 && page.page > 1 && page.meta === undefined;
  if (isPastEnd && search.corrections < MAX_CORRECTIONS) {
    // A source that keeps to its own page size has nothing at this address, though the list goes on there. Any other ends before it.
    if (page.limit !== search.size && !isLimitHonoured)
      return { kind: 'ask', search: { ...search, corrections, isFixed: true } };
    const pastEnd = place.firstOffset;
    const before = search.previous?.lastOffset ?? Math.max(pastEnd - search.size, 0);
    return { kind: 'ask', search: { ...search, corrections, pastEnd, offset: before } };
  }
  const previous = place.first === null ? search.previous : place;
  // Behind the end of a counted list: rows that were deleted had moved the address there.
  const isBehindCount = page.rows === 0 && offset !== null;
  if (place.order === 'none' || (place.interval === null && !isBehindCount)) return { kind: 'stop' };
  if (offset === null) return { kind: 'found', search: { ...search, previous } };
  // A page shorter than asked for leaves the page size in doubt until the next one shows it; the loop goes on from here.
  if (!search.isSized && page.rows < page.limit) return { kind: 'stop' };
  return { kind: 'ask', search: { ...search, corrections, previous, offset } };
}

/** The addresses behind the page that holds the start of the range, each overlapping the one before by a row; at most `most`. */
export function* addressesBehind(
  { lastOffset, total }: Place,
  { rows, isFixed, most, known }: { rows: number; isFixed: boolean; most: number; known?: KnownAddress | undefined },
): Generator<PageAddress> {
  let at = lastOffset;
  for (let count = 0; count < most && (total === null || at < total - 1); count++) {
    const address = isFixed ? { page: Math.floor(at / rows) + 2, limit: rows } : addressBehind(at, rows, known);
    yield address;
    at = address.page * address.limit - 1;
  }
}
