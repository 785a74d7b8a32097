import { type KeySet, keySet } from './key-set.ts';
import { countPages, type Meta } from './page-count.ts';

/**
 * One pass over the pages of a list, as a state machine without I/O: `pagesToAsk` says what to ask for, `takePage` (`take-page.ts`) what follows
 * from an answer. A short page never ends a list, since sources return less than they are asked for; its own count does, or one without
 * a row that is new, unless a count promises that others follow.
 */
export interface Pager {
  readonly rules: PagerRules;
  /** The next page to ask for, from 1. */
  readonly page: number;
  /** Pages of a counted list, fixed for a pass by the longest page before; null for a list without a count. */
  readonly totalPages: number | null;
  readonly totalRecords: number | null;
  /** The first page's count as it came, after a restart that of the first page since; undefined where it gave none. */
  readonly count: Meta | undefined;
  /** Rows of the longest page so far. */
  readonly longest: number;
  /** 1 for the first pass over the list. */
  readonly pass: number;
  /** Keys shown by this and all earlier passes. */
  readonly seen: KeySet;
  /** Keys shown by this pass. */
  readonly shown: KeySet;
  /** The page taken last in this pass. */
  readonly previous: ListPage | null;
  /** Rows that a page with new rows has repeated. Inserted rows cause one per page; more mean that the list has no fixed order. */
  readonly repeated: number;
  /** False once the count moved. */
  readonly steady: boolean;
  /** The page was empty and is being asked for once more. */
  readonly asksAgain: boolean;
  /** Pages in a row that were empty, or showed the page before once more. */
  readonly fruitless: number;
  /** A page that the count promised was empty. */
  readonly lacksPage: boolean;
  /** The page behind the last by the count is asked for, too. */
  readonly goesBehind: boolean;
}

export interface PagerRules {
  /**
   * How a counted list is read:
   * - `first`: the first page's count fixes the pages, so that they may be asked for side by side. Whether they held all
   *   rows shows at the end.
   * - `each`: each page's own count says whether another follows, and each has to bring rows. For rows that are passed on
   *   page by page.
   */
  readonly count: 'first' | 'each';
  /** A list that has not ended after so many pages is given up. */
  readonly maxPages: number;
  /** A slice that can be cut into smaller ones is cut when it has more pages than this. */
  readonly maxPagesOfSlice: number;
}

export interface ListPage {
  readonly page: number;
  /** Rows that came, whether they can be read or not. */
  readonly rows: number;
  /** The rows by key (see `row-key.ts`), equal rows without an id numbered after those in `Pager.seen`. */
  readonly keys: readonly string[];
  readonly meta: Meta | undefined;
  /** Pages of the list by a count that is not believed: rows may have been taken out of pages that were cut before. */
  readonly promised?: number | undefined;
}

/** What is known of the list when a page is taken. */
export interface PageContext {
  /** The list is known to ignore the page number: one answer is all it shows. */
  readonly isSingleBody: boolean;
  /** The list may have been cut off at this page, or at the one it repeats: as long as a usual cap. */
  readonly looksCut: boolean;
  /** Rows of a full page of a list without a count: an empty page behind one is asked for once more. */
  readonly fullPage: number;
  /** Rows may have no id. */
  readonly mayLackIds: boolean;
  /** The slice can be cut into smaller ones. */
  readonly canCut: boolean;
}

export type PageVerdict =
  | { readonly kind: 'more' }
  /** The same page once more; the answer counts for nothing. */
  | { readonly kind: 'ask again' }
  /** The list has ended after `pages` pages. */
  | { readonly kind: 'end of list'; readonly pages: number }
  /** One answer of exactly so many rows is all the source shows; more may be hidden. */
  | { readonly kind: 'capped'; readonly rows: number }
  /** The count promises rows that the page lacks. */
  | { readonly kind: 'lacking'; readonly page: number; readonly isEmpty: boolean }
  | { readonly kind: 'too many pages'; readonly pages: number }
  /** The slice is too large to be read in one go. `total`: its rows by its own count; `shown`: those seen so far. */
  | { readonly kind: 'cut'; readonly total: number | null; readonly shown: number };

export interface TakenPage {
  readonly pager: Pager;
  readonly verdict: PageVerdict;
  /** Keys that no earlier page showed, in this pass or before. */
  readonly fresh: readonly string[];
  /** Rows that no earlier page of this pass showed. */
  readonly news: number;
  /** Page 1 came again in place of this one. */
  readonly repeatsFirst: boolean;
  /** The page before came again, row by row, or behind the end the first: nothing of this one counts. */
  readonly isDuplicate: boolean;
}

/** Begins a list at its first page, or where an earlier reading of it stopped. */
export function startPager(rules: PagerRules, from: Partial<Omit<Pager, 'rules' | 'shown'>> = {}): Pager {
  const seen = from.seen ?? keySet();
  return {
    page: 1,
    totalPages: null,
    totalRecords: null,
    count: undefined,
    longest: 0,
    pass: 1,
    previous: null,
    repeated: 0,
    steady: true,
    asksAgain: false,
    fruitless: 0,
    lacksPage: false,
    goesBehind: false,
    ...from,
    rules,
    seen,
    // What an earlier process showed in a later pass is unknown.
    shown: (from.pass ?? 1) === 1 ? seen : keySet(),
  };
}

/** The next pass over the list, from its first page. A first page that lacked rows made the list seem to have more pages than it has. */
export const startPass = (pager: Pager): Pager => ({
  ...pager,
  totalPages: countPages(pager.count, pager.longest, pager.rules.maxPages) ?? lastByCount(pager),
  page: 1,
  pass: pager.pass + 1,
  shown: keySet(),
  previous: null,
  repeated: 0,
  fruitless: 0,
  lacksPage: false,
  goesBehind: false,
});

/** Without the page behind it. */
export const lastByCount = ({ totalPages, goesBehind }: Pick<Pager, 'totalPages' | 'goesBehind'>): number | null =>
  totalPages !== null && goesBehind ? totalPages - 1 : totalPages;

/** The pages to ask for now, side by side if there are several; none where all were read. */
export function pagesToAsk({ page, totalPages, rules }: Pager): number[] {
  if (totalPages === null || rules.count === 'each') return [page];
  return Array.from({ length: Math.max(totalPages - page + 1, 0) }, (_, index) => page + index);
}
