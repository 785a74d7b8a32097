import { countPages, countPromises, MOST_FRUITLESS_PAGES } from './page-count.ts';
import type { ListPage, PageContext, Pager, PageVerdict, TakenPage } from './pager.ts';
import { isFirstPage, isMostlyFirst, mayGoOn, repeats } from './repeated-rows.ts';
import { isContentKey, isNumberedKey, renumbered } from './row-key.ts';

/** Takes an answer in. Pages that were asked for side by side are taken in their order. */
export function takePage(before: Pager, given: ListPage, context: PageContext): TakenPage {
  const { page } = given;
  // An earlier process took the first page.
  const pager = before.totalPages === null ? before : { ...before, count: before.count ?? given.meta };
  if (!isBehindCount(pager, given) || !isShownAgain(pager, given)) return takeRows(pager, given, context);
  const steady = pager.steady && !hasMoved(pager, given);
  const previous: ListPage = { ...given, rows: 0, keys: [] };
  const next: Pager = { ...pager, steady, page: page + 1, previous, asksAgain: false };
  const verdict: PageVerdict = pager.lacksPage
    ? { kind: 'lacking', page, isEmpty: false }
    : { kind: 'end of list', pages: page - 1 };
  return { pager: next, verdict, fresh: [], news: 0, repeatsFirst: false, isDuplicate: true };
}

/** Short pages make a counted list seem to have more pages than its source counts. */
const isBehindCount = ({ goesBehind, count }: Pager, { page }: Pick<ListPage, 'page'>): boolean =>
  goesBehind || page > (count?.totalPages ?? Number.POSITIVE_INFINITY);

/** Behind its end, a list may show its last page again, or its first. */
function isShownAgain({ seen, previous, goesBehind, longest }: Pager, page: ListPage): boolean {
  if (previous === null || page.rows === 0) return false;
  // The last page was full, or looked so.
  if (goesBehind && page.rows !== previous.rows && page.rows !== longest) return false;
  return repeats(previous, page) || isMostlyFirst(seen, renumbered(page.keys), page.rows);
}

function takeRows(pager: Pager, page: ListPage, context: PageContext): TakenPage {
  if (!pager.asksAgain && isDoubtful(pager, page, context)) {
    const again = { pager: { ...pager, asksAgain: true }, verdict: { kind: 'ask again' } } as const;
    return { ...again, fresh: [], news: 0, repeatsFirst: false, isDuplicate: false };
  }
  const longest = Math.max(pager.longest, page.rows);
  const fruitless = bringsNothing(pager.previous, page, context) ? pager.fruitless + 1 : 0;
  const next: Pager = { ...pager, page: page.page + 1, longest, previous: page, asksAgain: false, fruitless };
  if (pager.rules.count === 'first' && pager.page === 1 && pager.pass === 1)
    return goBehind(takeFirst(next, page, context), page, context);
  return pager.rules.count === 'first' && pager.totalPages !== null
    ? goBehind(takeCounted(next, pager.previous, page, context), page, context)
    : takeOpenEnded(next, pager.previous, page, context);
}

/** An empty page, or the page before once more. */
const bringsNothing = (previous: ListPage | null, page: ListPage, context: PageContext): boolean =>
  page.rows === 0 || (previous !== null && repeats(previous, page) && !mayGoOn(page, context));

/** A full page does not end a counted list, as the count may be old: the page behind it does. */
function goBehind(taken: TakenPage, { page, rows }: ListPage, { fullPage, looksCut }: PageContext): TakenPage {
  const { pager, verdict } = taken;
  const isFull = rows >= fullPage || looksCut;
  const isOpen = verdict.kind === 'end of list' && pager.totalPages !== null && !pager.goesBehind && isFull;
  return isOpen
    ? { ...taken, pager: { ...pager, totalPages: page + 1, goesBehind: true }, verdict: { kind: 'more' } }
    : taken;
}

/** An empty page where there should be rows: an answer that lost its rows is likelier. */
function isDoubtful({ rules, totalPages, previous }: Pager, page: ListPage, context: PageContext): boolean {
  if (page.rows > 0) return false;
  if (rules.count === 'first' && totalPages === null) return endsBehindFullPage(previous, page, context.fullPage);
  return previous?.rows !== 0 && countPromises(page.meta, page.page);
}

/** Pages follow this one by a count that is not believed. */
export const isFollowed = ({ page, promised = 0 }: Pick<ListPage, 'page' | 'promised'>): boolean => page < promised;

/** Where nothing counts the pages, an empty one ends the list; behind a full page that is in doubt. */
export const endsBehindFullPage = (
  previous: Pick<ListPage, 'rows' | 'meta'> | null,
  page: Pick<ListPage, 'rows'>,
  fullPage: number,
): boolean => previous !== null && previous.meta === undefined && page.rows === 0 && previous.rows >= fullPage;

function takeFirst(pager: Pager, page: ListPage, context: PageContext): TakenPage {
  const fresh = page.keys.filter(key => !pager.seen.has(key));
  const seen = pager.seen.with(fresh);
  const totalPages = countPages(page.meta, page.rows, pager.rules.maxPages);
  const totalRecords = page.meta?.totalRecords ?? null;
  const next: Pager = { ...pager, seen, shown: seen, totalPages, totalRecords, count: page.meta };
  // Before a single body is called capped, the next page has to show that it is still one.
  const isSingleBody = context.isSingleBody && !isFollowed(page);
  const isCapped = isSingleBody && totalPages === null && context.looksCut;
  // Rows without an id can be counted only inside one answer.
  const mostPages = context.isSingleBody || page.keys.some(isContentKey) ? 1 : pager.rules.maxPagesOfSlice;
  const isTooLarge = isCapped || (totalPages ?? 1) > mostPages;
  const isAll = totalPages === null ? isSingleBody || (page.rows === 0 && !isFollowed(page)) : totalPages <= 1;
  const verdict: PageVerdict =
    isTooLarge && context.canCut
      ? { kind: 'cut', total: totalRecords, shown: page.rows }
      : isAll && !isCapped
        ? { kind: 'end of list', pages: 1 }
        : { kind: 'more' };
  return { pager: next, verdict, fresh, news: fresh.length, repeatsFirst: false, isDuplicate: false };
}

function takeCounted(pager: Pager, previous: ListPage | null, page: ListPage, context: PageContext): TakenPage {
  const { totalRecords } = pager;
  const fresh = page.keys.filter(key => !pager.seen.has(key));
  const seen = pager.seen.with(fresh);
  const next: Pager = { ...pager, seen, shown: pager.shown === pager.seen ? seen : pager.shown.with(page.keys) };
  const taken = { fresh, news: fresh.length, isDuplicate: false };
  const moved = hasMoved(pager, page);
  // A page with fewer rows than the first is not the first again: where equal dates come in no fixed order, rows slip. Rows that came in front of the
  // first page push it to the second.
  const repeatsFirst =
    pager.pass === 1 &&
    page.page === 2 &&
    !pager.goesBehind &&
    !moved &&
    (fresh.every(isNumberedKey) || (previous !== null && repeats(previous, page) && !mayGoOn(page, context))) &&
    page.rows > 0 &&
    page.rows >= pager.seen.size;
  if (repeatsFirst) return { ...taken, pager: next, verdict: cutOrCapped(page, totalRecords, context), repeatsFirst };
  const steady = pager.steady && !moved;
  if (pager.goesBehind && page.rows === 0 && page.page === pager.totalPages)
    return {
      ...taken,
      pager: { ...next, steady },
      verdict: { kind: 'end of list', pages: page.page - 1 },
      repeatsFirst,
    };
  const lacksPage = pager.lacksPage || page.rows === 0 || pager.fruitless >= MOST_FRUITLESS_PAGES;
  return {
    ...taken,
    pager: { ...next, steady, lacksPage },
    verdict: verdictOfCounted(next, page, lacksPage),
    repeatsFirst,
  };
}

const hasMoved = ({ totalRecords }: Pager, { meta }: ListPage): boolean =>
  meta?.totalRecords !== undefined && meta.totalRecords !== totalRecords;

/** Behind some pages that bring nothing, whatever else the count promises would bring nothing, too; behind those that the source counts, one empty page is enough. */
function verdictOfCounted(pager: Pager, { page, rows }: ListPage, lacksPage: boolean): PageVerdict {
  const isOver = pager.fruitless >= MOST_FRUITLESS_PAGES || (rows === 0 && isBehindCount(pager, { page }));
  if (page !== pager.totalPages && !isOver) return { kind: 'more' };
  if (lacksPage) return { kind: 'lacking', page, isEmpty: rows === 0 };
  return { kind: 'end of list', pages: page };
}

function takeOpenEnded(pager: Pager, previous: ListPage | null, page: ListPage, context: PageContext): TakenPage {
  // Equal rows without a readable id would be numbered on for ever, however often the same page comes.
  const isNumbered = context.mayLackIds || page.keys.some(isNumberedKey);
  const isDuplicate = isNumbered && previous !== null && (repeats(previous, page) || isFirstPage(pager.seen, page));
  const keys = isDuplicate ? [] : page.keys;
  const fresh = keys.filter(key => !pager.seen.has(key));
  const news = keys.filter(key => !pager.shown.has(key)).length;
  const seen = pager.seen.with(fresh);
  const shown = pager.shown === pager.seen ? seen : pager.shown.with(keys);
  const repeated = pager.repeated + (news > 0 ? keys.length - news : 0);
  const next: Pager = { ...pager, seen, shown, repeated };
  // Past its end a list may show its last page again; the first page again means that the page number is ignored.
  const repeatsFirst = news === 0 && isMostlyFirst(seen, isDuplicate ? renumbered(page.keys) : keys, page.rows);
  return {
    pager: next,
    verdict: news === 0 ? verdictOfEnd(pager, page, repeatsFirst, context) : verdictOfNews(next, page, context),
    fresh,
    news,
    repeatsFirst,
    isDuplicate,
  };
}

function verdictOfEnd(
  { rules, fruitless }: Pager,
  page: ListPage,
  repeatsFirst: boolean,
  context: PageContext,
): PageVerdict {
  if (rules.count === 'each' && countPromises(page.meta, page.page))
    return { kind: 'lacking', page: page.page, isEmpty: page.rows === 0 };
  if (page.rows === 0 && isFollowed(page) && fruitless < MOST_FRUITLESS_PAGES) return { kind: 'more' };
  // Where the second page was another one, the first behind the last is an end like any other. Rows that were passed on are not read again: there,
  // any page without new rows leaves a list that looks cut in doubt.
  const isDoubted = page.rows > 0 && (rules.count === 'each' || (repeatsFirst && page.page === 2));
  if (isDoubted && context.looksCut) return cutOrCapped(page, null, context);
  return { kind: 'end of list', pages: page.page - Math.max(fruitless, 1) };
}

function verdictOfNews({ rules, seen }: Pager, { page, meta }: ListPage, context: PageContext): PageVerdict {
  if (rules.count === 'each' && meta?.totalPages && page >= meta.totalPages)
    return { kind: 'end of list', pages: page };
  if (page >= rules.maxPages) return { kind: 'too many pages', pages: page };
  if (page > rules.maxPagesOfSlice && context.canCut) return { kind: 'cut', total: null, shown: seen.size };
  return { kind: 'more' };
}

const cutOrCapped = (page: ListPage, total: number | null, { canCut }: PageContext): PageVerdict =>
  canCut ? { kind: 'cut', total, shown: page.rows } : { kind: 'capped', rows: page.rows };
