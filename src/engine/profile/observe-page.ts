import { COMMON_CAPS } from '../../source/paging/page-count.ts';
import type { Observation } from './observation.ts';
import type { ObservedPage } from './observed-page.ts';
import { distinctRows, fullLength, hasMoreRowsThan, isFull, keepsOwnSize } from './page-length.ts';
import type { SourceProfile } from './source-profile.ts';

/** No source's pages are shorter than the default that its document names. */
export const LEAST_PAGE = 20;

export interface PageObservationContext {
  /** The field that holds a row's id. */
  readonly keyField: string;
  /** Rows may have no id. */
  readonly mayLackIds: boolean;
  /** Pages of the list by its own count; null without one. */
  readonly pages: number | null;
  /** The page in front of this one, which this one proves not to have been the last. */
  readonly previous: ObservedPage | null;
}

/** What one page shows of the list, where that is unknown yet or known otherwise. */
export function observePage(
  profile: SourceProfile,
  page: ObservedPage,
  context: PageObservationContext,
): Observation[] {
  const { pages, previous, keyField } = context;
  const observations = [...observeIds(profile, page, context), ...observeLength(profile, page)];
  const isCounted = page.meta?.totalPages !== undefined;
  const turned = !isCounted && previous !== null && turnsPages(keyField, previous, page) ? previous : null;
  if (turned !== null && profile.paging === null) observations.push(UNTIL_EMPTY);
  // Without a count, a page was full if another follows it. A longer one does not: the short page was the last, and this one has
  // come in its place since.
  const follows = turned !== null && page.page - 1 === turned.page && page.limit === turned.limit;
  const filled = follows && page.rows.length <= turned.rows.length ? turned : null;
  const isFilledFirst =
    pages !== null && pages > page.page && page.page === 1 && isFull(profile, page) && countsByOwnSize(page);
  return [
    ...observations,
    ...observeOwnSize(profile, filled !== null && hasMoreRowsThan(filled.limit, filled) ? filled : page, filled),
    ...observeRefusal(profile, page),
    ...observePageSize(profile, page, isFilledFirst ? page : filled),
  ];
}

/** The source counts its pages by a smaller size than was asked for. A count that is somewhat too high promises another page, too. */
function countsByOwnSize({ meta, limit, rows }: ObservedPage): boolean {
  const byLimit = Math.ceil((meta?.totalRecords ?? 0) / limit);
  return rows.length >= limit || (meta?.totalPages ?? 0) > byLimit;
}

/** `filled`: the page before, if it is known to have been full. */
function observeOwnSize(profile: SourceProfile, page: ObservedPage, filled: ObservedPage | null): Observation[] {
  if (profile.limit === 'ignored') return [];
  // Where fewer rows are refused, pages cannot be made to overlap.
  if (page.refused === 'fewer')
    return [{ trait: 'limit', value: 'ignored', evidence: `the source refused fewer than ${page.limit} rows a page` }];
  if (!(page === filled || keepsOwnSize(profile, page))) return [];
  const counted = page.meta?.totalPages === undefined ? '' : `, ${page.meta.totalPages} pages in all`;
  const evidence = `asked for ${page.limit} rows on page ${page.page}, got ${page.rows.length}${counted}`;
  return [{ trait: 'limit', value: 'ignored', evidence }];
}

/** Where longer pages were shown before, the source refused this one for another reason. */
function observeRefusal({ pageSize, mostAccepted }: SourceProfile, { refused, limit }: ObservedPage): Observation[] {
  if (refused !== 'more' || limit === mostAccepted || limit < (pageSize ?? 0)) return [];
  return [{ trait: 'most accepted', value: `${limit}`, evidence: `the source accepts at most ${limit} rows a page` }];
}

/** `filled`: a page that is known to have been full. */
export function observePageSize(
  profile: SourceProfile,
  page: ObservedPage,
  filled: ObservedPage | null,
): Observation[] {
  const known = profile.pageSize;
  if (page.refused === 'more' && known === null) {
    const evidence = `the source accepts at most ${page.limit} rows a page`;
    return [{ trait: 'page size', value: `${page.limit}`, evidence }];
  }
  // Longer than the known maximum: the page that showed that one had lost rows. A row that comes twice makes none longer.
  const isLonger = known !== null && page.rows.length <= page.limit && hasMoreRowsThan(known, page);
  const shown = isLonger ? page : filled;
  // Pages of one row could not overlap.
  if (shown === null || shown.rows.length < 2) return [];
  const size = fullLength(shown, known);
  // A page as long as asked for shows no maximum, unless more was asked for than ever before.
  if (size === known || (size === shown.limit && known !== null && known > size)) return [];
  // Nor does one that is shorter than any source's, where it is known to show more: it had lost rows.
  if (size < LEAST_PAGE && known !== null && known >= LEAST_PAGE) return [];
  const evidence = `asked for ${shown.limit} rows, got ${size}${isLonger ? '' : ' with more to come'}`;
  return [{ trait: 'page size', value: `${size}`, evidence }];
}

export const UNTIL_EMPTY: Observation = {
  trait: 'paging',
  value: 'until empty',
  evidence: 'pages follow each other without a count',
};

/** The same page came again although another was asked for. */
export const pagingIgnored = ({ page, rows }: ObservedPage, previous = 1): Observation => ({
  trait: 'paging',
  value: 'ignored',
  evidence: `page ${page} repeated the ${rows.length} rows of page ${previous}`,
});

/** A list that was a single page once, whose last page came again past its end, has grown. */
export const observeGrowth = (profile: SourceProfile, { page, rows }: ObservedPage, news: number): Observation[] =>
  profile.paging === 'ignored' && 2 * news > rows.length
    ? [{ ...UNTIL_EMPTY, evidence: `page ${page} shows ${news} rows that page 1 does not` }]
    : [];

/**
 * A later page with mostly other rows: some come again where rows were inserted before them, and all where a source answers past
 * the end with its last page.
 */
export function turnsPages(keyField: string, previous: ObservedPage, { page, rows }: ObservedPage): boolean {
  const shown = new Set(previous.rows.map(row => keyIn(row, keyField)));
  return page > previous.page && 2 * rows.filter(row => !shown.has(keyIn(row, keyField))).length > rows.length;
}

/** What tells a row of an answer from others: its key, so that an edited row is the same row, or without one all of it. */
export const keyIn = (row: unknown, keyField: string): string =>
  String((row as Record<string, unknown> | null)?.[keyField] ?? JSON.stringify(row));

/** Whether rows carry their id: `value` by most of the page's records, null where it has none. */
function idsOf(
  { rows }: ObservedPage,
  keyField: string,
): { value: 'yes' | 'no'; bare: number; records: number } | null {
  // What is no record says nothing, and one row does not speak for the others.
  const records = rows.filter(row => typeof row === 'object' && row !== null && !Array.isArray(row));
  if (records.length === 0) return null;
  const bare = records.filter(row => (row as Record<string, unknown>)[keyField] == null).length;
  return { value: 2 * bare > records.length ? 'no' : 'yes', bare, records: records.length };
}

type IdContext = Pick<PageObservationContext, 'keyField' | 'mayLackIds'>;

function observeIds(profile: SourceProfile, page: ObservedPage, { keyField, mayLackIds }: IdContext): Observation[] {
  const ids = mayLackIds && profile.ids === null ? idsOf(page, keyField) : null;
  if (ids === null) return [];
  const evidence = `${ids.bare} of ${ids.records} rows came without "${keyField}"`;
  return [{ trait: 'ids', value: ids.value, evidence }];
}

/** The rows began or ceased to carry their id. Rows stored under an id and rows stored under their content cannot be matched. */
export function idsChanged(
  profile: SourceProfile,
  page: ObservedPage,
  { keyField, mayLackIds }: IdContext,
): 'appeared' | 'disappeared' | null {
  const ids = mayLackIds && profile.ids !== null ? idsOf(page, keyField) : null;
  if (ids === null || ids.value === profile.ids) return null;
  return ids.value === 'no' ? 'disappeared' : 'appeared';
}

/** Only an answer without a count can be cut off without saying so. */
function observeLength(profile: SourceProfile, page: ObservedPage): Observation[] {
  if (page.meta !== undefined) return [];
  const observations: Observation[] = [];
  const shown = distinctRows(page);
  if (shown > page.limit && !profile.exceedsLimit)
    observations.push({
      trait: 'more than asked',
      value: 'yes',
      evidence: `asked for ${page.limit} rows, got ${shown}`,
    });
  const exceeded = COMMON_CAPS.findLast(cap => cap < shown);
  if (exceeded !== undefined && exceeded > profile.exceedsCap)
    observations.push({ trait: 'goes beyond', value: `${exceeded}`, evidence: `an answer held ${shown} rows` });
  return observations;
}
