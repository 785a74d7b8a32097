import { createHash } from 'node:crypto';
import { type KeySet, keySet } from './key-set.ts';
import {
  type ListPage,
  lastByCount,
  type PageContext,
  type Pager,
  type PagerRules,
  pagesToAsk,
  startPager,
  startPass,
  type TakenPage,
} from './pager.ts';
import { isContentKey, isNumberedKey } from './row-key.ts';
import { takePage } from './take-page.ts';

/**
 * Reads a list until it adds up, as a state machine around the pager: one pass where a count confirms it, else passes over
 * the pages until two agree. Nothing else shows that rows slipped from one page to another in between.
 */
export interface Reading {
  readonly pager: Pager;
  readonly limit: number;
  /** Digest of the keys shown up to the end of the last pass; null before, and where they did not count. */
  readonly before: string | null;
  /** This pass has shown a row that the one before should have shown. */
  readonly slipped: boolean;
  /** Rows seen before this pass. */
  readonly known: number;
  /** How many of them the pass before added; null in the first pass, and where a restart forgot it. */
  readonly added: number | null;
  /** The highest id so far: rows inserted during the reading have higher ones. */
  readonly newest: bigint;
  /** Grant time of the first request that counts; null until it is answered. */
  readonly startedAt: string | null;
  /** A restart forgot what the pass under way had shown. */
  readonly forgot: boolean;
  /** The key of the last row of a page that showed new ones; null before. */
  readonly last: string | null;
}

/** What has to be remembered, with the keys shown, to go on after a restart. */
export interface Position {
  readonly page: number;
  readonly limit: number;
  readonly startedAt: string;
  readonly totalPages: number | null;
  readonly totalRecords: number | null;
  /** The count has not moved so far. */
  readonly steady: boolean;
  readonly before: string | null;
  readonly last: string | null;
}

export interface ReadingContext extends PageContext {
  /** The list is ordered by id: rows slip only where others are deleted. */
  readonly isIdOrdered: boolean;
  /** A slice whose rows differ from their count is cut: it was read before, or was asked for together with others. */
  readonly cutsIfCountDiffers: boolean;
  /** Without a count, a reading of more rows may have been cut off. Null where the end of the slice is judged otherwise. */
  readonly mostBelieved: number | null;
}

/** The end of a reading. */
export interface Reached {
  /** Rows from the start to the end; null where it is not known how many rows came before its last page. */
  readonly rows: number | null;
  /** The key of the last row. */
  readonly last: string;
  /** The source's own count says so, too. */
  readonly counted: boolean;
  /** Pages that showed them, and those asked for beyond. */
  readonly pages?: number;
}

export type ReadingOutcome =
  /** Every row that was there throughout was shown. `reached`: where they end; null without rows. */
  | { readonly kind: 'complete'; readonly reached: Reached | null }
  | { readonly kind: 'cut'; readonly total: number | null; readonly shown: number }
  | { readonly kind: 'capped'; readonly rows: number }
  /** The count moved. `rows`: a digest of those shown; null where it was right at first. */
  | { readonly kind: 'unsteady'; readonly rows: string | null }
  | { readonly kind: 'count differs'; readonly counted: number; readonly shown: number; readonly rows: string }
  /** No two passes agreed. */
  | { readonly kind: 'never stable' }
  | { readonly kind: 'too many pages'; readonly pages: number };

export interface ReadPage {
  readonly reading: Reading;
  /** How the reading ends; null while it goes on. */
  readonly outcome: ReadingOutcome | null;
  readonly taken: TakenPage;
  /** Where the reading stands after this page; null where the page has to be asked for again. */
  readonly position: Position | null;
}

export function startReading(
  rules: PagerRules & { readonly limit: number },
  stored?: Position & { readonly keys: readonly string[] },
): Reading {
  // Which of equal rows was which is known only as long as every page is: such a reading goes on only where two passes have to agree.
  const lacksIds = stored?.keys.some(isContentKey) ?? false;
  const goesBehind = stored !== undefined && stored.totalRecords !== null && stored.keys.length >= stored.totalRecords;
  if (!stored || (lacksIds && (lastByCount({ ...stored, goesBehind }) ?? 1) <= 1)) {
    const pager = startPager(rules);
    return {
      pager,
      limit: rules.limit,
      before: null,
      slipped: false,
      known: 0,
      added: null,
      newest: -1n,
      startedAt: null,
      forgot: false,
      last: null,
    };
  }
  // Rows held back in an earlier pass were lost with the process that read them: the passes have to agree anew.
  const before = lacksIds ? null : stored.before;
  const { page, totalPages, totalRecords, steady, limit, startedAt, last } = stored;
  const seen = keySet(stored.keys);
  return {
    pager: startPager(rules, {
      ...{ page, totalPages, totalRecords, steady, seen },
      pass: stored.before === null ? 1 : 2,
      goesBehind,
    }),
    limit,
    before,
    // What this pass showed before the restart is unknown.
    slipped: true,
    known: seen.size,
    added: null,
    newest: newestOf(stored.keys, -1n),
    startedAt,
    forgot: stored.before !== null,
    last,
  };
}

/** The pages to ask for now; none where all were read before a restart, and only `endPass` is left. */
export const pagesToRead = ({ pager }: Reading): number[] => pagesToAsk(pager);

/** True until the first page was taken: only that may be asked for with fewer rows than the limit. */
export const isAtStart = ({ pager }: Reading): boolean => pager.page === 1 && pager.pass === 1;

export function readPage(
  reading: Reading,
  page: ListPage & { readonly limit: number; readonly grantedAt: string; readonly last?: string | null },
  context: ReadingContext,
): ReadPage {
  const taken = takePage(reading.pager, page, context);
  const { verdict, fresh } = taken;
  if (verdict.kind === 'ask again')
    return { reading: { ...reading, pager: taken.pager }, outcome: null, taken, position: null };
  const startedAt = reading.startedAt ?? page.grantedAt;
  const next: Reading = {
    ...reading,
    pager: taken.pager,
    limit: isAtStart(reading) ? page.limit : reading.limit,
    slipped: reading.slipped || fresh.some(key => !isId(key) || BigInt(key) < reading.newest),
    newest: newestOf(fresh, reading.newest),
    startedAt,
    last: taken.news > 0 ? (page.last ?? null) : reading.last,
  };
  const { totalPages, totalRecords, steady } = taken.pager;
  const { before, limit, last } = next;
  const position = { page: page.page + 1, limit, startedAt, totalPages, totalRecords, steady, before, last };
  switch (verdict.kind) {
    case 'more':
      return { reading: next, outcome: null, taken, position };
    case 'end of list':
      return { ...endPass(next, verdict.pages, context), taken, position };
    case 'lacking':
      // It promised more pages than its rows fill.
      if (steady && next.pager.seen.size === totalRecords)
        return { ...endPass(next, verdict.page, context), taken, position };
      return { reading: next, outcome: lacking(next), taken, position };
    default:
      return { reading: next, outcome: verdict, taken, position };
  }
}

/** A page that the count promised has no rows. */
const lacking = ({ pager: { steady, totalRecords, seen } }: Reading): ReadingOutcome =>
  steady && totalRecords !== null
    ? { kind: 'count differs', counted: totalRecords, shown: seen.size, rows: digestOf(seen) }
    : unsteady(seen, totalRecords);

/** What follows from the last page of a pass: the reading ends, or goes over all pages again. */
export function endPass(
  reading: Reading,
  pages: number,
  context: ReadingContext,
): { readonly reading: Reading; readonly outcome: ReadingOutcome | null } {
  const { totalPages, totalRecords, seen, steady, pass } = reading.pager;
  const isCounted = totalPages !== null;
  if (!isCounted && mayBeCutOff(reading, context)) return { reading, outcome: cutOff(reading, context) };
  const byContent = some(seen, isContentKey);
  if (pages > 1 && (byContent || !isCounted)) return comparePasses(reading, pages, byContent, context);
  const lacksRows = isCounted && steady && totalRecords !== null && seen.size < totalRecords;
  const canReadAgain = pages > 1 && pass < MAX_PASSES && !context.canCut;
  if (lacksRows && canReadAgain && !some(seen, isNumberedKey))
    return { reading: { ...reading, pager: startPass(reading.pager), forgot: false }, outcome: null };
  return { reading, outcome: outcomeAtEnd(reading, context) };
}

/** Records that are no rows, such as null, may come whatever is asked for: an answer that shows nothing else hides no row behind its end. */
const mayBeCutOff = ({ pager: { shown } }: Reading, { mostBelieved }: ReadingContext): boolean =>
  mostBelieved !== null && shown.size > mostBelieved && some(shown, key => !isNumberedKey(key));

const cutOff = ({ pager: { shown } }: Reading, { canCut }: ReadingContext): ReadingOutcome =>
  canCut ? { kind: 'cut', total: null, shown: shown.size } : { kind: 'capped', rows: shown.size };

/** Passes over a list that cannot be cut before it is left in doubt. */
const MAX_PASSES = 8;

/**
 * Where equal dates come in a new order each time, a pass leaves about a third of the rest out, so that the next adds far fewer rows. One
 * that adds nearly as many reads a list that changes as fast as it is read: further passes would not agree either.
 */
const neverSettles = ({ known, added, pager: { seen } }: Reading): boolean =>
  added !== null && seen.size - known > Math.max(0.75 * added, FEW_ROWS);

const FEW_ROWS = 2;

/** Without a count of its pages, or where rows have no id, a list is complete once two passes agree. */
function comparePasses(
  reading: Reading,
  pages: number,
  byContent: boolean,
  context: ReadingContext,
): { reading: Reading; outcome: ReadingOutcome | null } {
  const { seen, pass, repeated, totalPages } = reading.pager;
  // Without an order by id rows slip all the time: the smaller the slice, the sooner two passes agree.
  if (totalPages === null && !context.isIdOrdered && context.canCut)
    return { reading, outcome: { kind: 'cut', total: null, shown: seen.size } };
  const digest = digestOf(seen);
  const agrees = reading.before === digest || (pass > 1 && !reading.slipped && !byContent);
  if (agrees && repeated < pages) return { reading, outcome: outcomeAtEnd(reading, context) };
  if (pass >= MAX_PASSES || neverSettles(reading)) return { reading, outcome: { kind: 'never stable' } };
  const again: Reading = {
    ...reading,
    pager: startPass(reading.pager),
    before: digest,
    slipped: false,
    known: seen.size,
    added: seen.size - reading.known,
    forgot: false,
  };
  if (!byContent) return { reading: again, outcome: null };
  // Equal rows are counted afresh in each pass.
  const empty = keySet();
  return {
    reading: { ...again, pager: { ...again.pager, seen: empty, shown: empty }, startedAt: null },
    outcome: null,
  };
}

function outcomeAtEnd(reading: Reading, context: ReadingContext): ReadingOutcome {
  const { steady, seen, totalPages, totalRecords, goesBehind } = reading.pager;
  // Rows behind a full last page came since the list was counted.
  if (!steady || (goesBehind && totalRecords !== null && seen.size > totalRecords)) return unsteady(seen, totalRecords);
  if (totalRecords === null || seen.size === totalRecords)
    return { kind: 'complete', reached: seen.size === 0 ? null : reachedBy(reading) };
  // Where equal dates come in no fixed order, rows slip between pages, but not within one.
  if ((totalPages ?? 1) > 1 && context.cutsIfCountDiffers && context.canCut)
    return { kind: 'cut', total: totalRecords, shown: seen.size };
  return { kind: 'count differs', counted: totalRecords, shown: seen.size, rows: digestOf(seen) };
}

/** The count changed on the way. Where it was right at first, another page was wrong, and not the count of these rows. */
const unsteady = (seen: KeySet, counted: number | null): ReadingOutcome => ({
  kind: 'unsteady',
  rows: seen.size === counted ? null : digestOf(seen),
});

const isId = (key: string): boolean => /^\d+$/.test(key);

const newestOf = (keys: Iterable<string>, known: bigint): bigint => {
  let newest = known;
  for (const key of keys) if (isId(key) && BigInt(key) > newest) newest = BigInt(key);
  return newest;
};

function reachedBy({ pager: { seen, shown, repeated, totalPages, previous }, forgot, last }: Reading): Reached {
  // The passes agree, so that the one before showed as many. A row that came in between makes none of them shorter: one is repeated.
  return {
    rows: forgot ? seen.size : shown.size + repeated,
    last: last ?? '',
    counted: totalPages !== null,
    pages: previous?.page ?? 1,
  };
}

function some(keys: KeySet, is: (key: string) => boolean): boolean {
  for (const key of keys) if (is(key)) return true;
  return false;
}

const digestOf = (keys: KeySet): string =>
  createHash('sha256')
    .update([...keys].sort().join('\n'))
    .digest('base64');
