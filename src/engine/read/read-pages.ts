import { createHash } from 'node:crypto';
import type { ReadingState } from '../../warehouse/ledgers/cursors.ts';
import type { Row } from '../../warehouse/rows/write-rows.ts';
import {
  type Edge,
  isContentKeyed,
  isIdOrdered,
  isPageless,
  narrowEdges,
  PAGE_CEILING,
  pagesOf,
  type Resource,
} from '../resource.ts';
import { MOST_TRIES } from '../run/progress.ts';
import type { Task } from '../run/task.ts';
import { type Day, NEWEST, OLDEST, splitWindow, widened } from '../slices/date-windows.ts';
import { isId } from '../slices/id-ranges.ts';
import { type DateSlice, type Slice, sliceText } from '../slices/slice.ts';
import {
  askFirst,
  askPage,
  firstLimit,
  inOrder,
  learnFromPage,
  mayBeCut,
  type PageAnswer,
  pagingIgnored,
  parseRows,
  type Reader,
  sureOfEnd,
  UNTIL_EMPTY,
} from './fetch-page.ts';
import type { End, Step } from './step.ts';

/** A slice has at most this many answers, as long as it can be cut. */
export const MOST_PAGES = 10;

/** Times that what cannot be cut is gone through before it is left in doubt. */
const MOST_ROUNDS = 8;

/** Ends of a reading that has counted all it showed. */
const PROVES: ReadonlySet<End['kind']> = new Set(['proven', 'targeted']);

export interface PageReading {
  readonly slice: Slice;
  readonly query: Readonly<Record<string, string>>;
  /** How to end when every page was read and adds up. */
  readonly whenRead: (startedAt: string) => End;
  /** For windows: how to cut it when it is too large; null when it cannot be cut. */
  readonly cut?: (total: number | null, shown: number) => End | null;
  /** Several windows asked for in one go. */
  readonly gathered?: boolean;
  /** Bounds that the query asks for, to check that the source keeps to them. */
  readonly asked?: { from: Day; to: Day; field: string };
}

/** The query of a window: a day wider on both sides, until the source was seen to include both, and always for long windows. */
export function askForWindow(
  task: Task,
  window: DateSlice,
): { query: Record<string, string>; asked: { from: Day; to: Day; field: string }; narrow: readonly Edge[] } {
  const { dates } = task.resource;
  if (!dates) throw new Error(`${task.resource.name} has no dates to ask by`);
  const narrow = narrowEdges(task.resource, window);
  const wide = widened(window);
  const from = (narrow.includes('date from') ? window : wide).from ?? OLDEST;
  const to = (narrow.includes('date to') ? window : wide).to ?? NEWEST;
  return { query: { [dates.from]: from, [dates.to]: to }, asked: { from, to, field: dates.field }, narrow };
}

/** How a window is read: its pages in full, or not at all when there are too many. */
export function windowReading(task: Task, window: DateSlice, today: Day, gathered: boolean): PageReading {
  const { query, asked, narrow } = askForWindow(task, window);
  return {
    slice: window,
    query,
    asked,
    whenRead: startedAt => ({ kind: 'proven', slice: window, startedAt, narrow }),
    gathered,
    cut: (total, shown) => {
      // Without a count, twice of what was shown is as good a guess as any: the next try gathers half as much.
      if (gathered) return { kind: 'larger', total: total ?? 2 * shown };
      const into = splitWindow(window, today);
      return into && { kind: 'split', into, total };
    },
  };
}

/**
 * Reads all pages of one answer, from where its cursor stands; the first page tells how many there are, the rest come side by
 * side. What one round of pages leaves in doubt, and what cannot be cut, is gone through again.
 */
export async function* readPages(reader: Reader, task: Task, reading: PageReading): AsyncGenerator<Step> {
  const { resource } = task;
  const { slice, query } = reading;
  const begun = task.reportOnly ? undefined : resumable(resource.cursor.readings[sliceText(slice)]);
  const seen = new Set(begun?.keys);
  const state = {
    startedAt: begun?.startedAt ?? null,
    limit: begun?.limit ?? firstLimit(reader, resource),
    totalPages: begun?.totalPages ?? null,
    totalRecords: begun?.totalRecords ?? null,
    // What was held back of the earlier rounds is lost with the process that read them: they have to agree anew.
    before: begun?.keys.some(key => key.startsWith('#')) ? null : (begun?.before ?? null),
  };
  let page = begun?.page ?? 1;
  let round = begun?.before ? 2 : 1;
  let anew = page === 1;
  let steady = true;
  // Whether this round has shown a row that the one before should have shown. What it showed in an earlier process is not known.
  let slipped = begun !== undefined;
  let newest = newestOf(seen, -1n);
  // Rows that this round showed on two pages. One for each edge of pages comes of a row that was inserted; more, of an order that is none.
  let repeated = 0;

  const ask = (each: number) =>
    askPage(reader, task, slice, query, { page: each, limit: state.limit, flexible: false });
  // Equal rows without an id are told apart by counting, which is sure inside one answer only: the others wait for the end.
  const held: Row[] = [];
  const take = (answer: PageAnswer) => {
    state.startedAt ??= answer.grantedAt;
    const parsed = parseRows(resource, answer, seen);
    const fresh = parsed.keys.filter(key => !seen.has(key));
    // Rows that came in the meantime have the highest ids.
    if (fresh.some(key => !isId(key) || BigInt(key) < newest)) slipped = true;
    newest = newestOf(fresh, newest);
    for (const key of fresh) seen.add(key);
    const { sure, unsure } = byCount(parsed.rows);
    held.push(...unsure);
    return { ...parsed, rows: sure, fresh: fresh.length };
  };
  const step = (answer: PageAnswer, taken: ReturnType<typeof take>, rest: Pick<Step, 'end' | 'learnt'>): Step => {
    const first = anew;
    anew = false;
    return {
      resource,
      task,
      slice,
      rows: taken.rows,
      bad: taken.bad,
      requests: answer.requests,
      release: answer.release,
      anew: first,
      ...(rest.end ? {} : { position: { ...state, startedAt: state.startedAt as string, page: answer.page + 1 } }),
      ...rest,
    };
  };
  const ended = (standing: Step, end: End | null): Step =>
    end ? { ...standing, end, rows: PROVES.has(end.kind) ? [...standing.rows, ...held] : standing.rows } : standing;
  const unproven = (reason: string): End => ({ kind: 'unproven', reason, startedAt: state.startedAt as string });
  const finish = (): End => {
    if (!steady) return unproven('the list changed while it was read');
    if (state.totalRecords !== null && seen.size !== state.totalRecords) {
      // Where equal dates come in another order each time, rows slip between pages, but not within one.
      if ((state.totalPages ?? 1) > 1 && (reading.gathered || triedBefore(task, slice))) {
        const cut = reading.cut?.(state.totalRecords, seen.size);
        if (cut) return cut;
      }
      return unproven(`the source counts ${state.totalRecords} rows and showed ${seen.size}`);
    }
    return reading.whenRead(state.startedAt as string);
  };
  /** What follows from the last page of a round; null: all pages are gone through again. */
  const conclude = (pages: number): End | null => {
    const byContent = [...seen].some(key => key.startsWith('#'));
    const counted = state.totalPages !== null;
    // Without a count nothing else tells whether rows slipped between pages, nor where rows have no id.
    if (pages > 1 && (byContent || !counted)) {
      // Rows slip all the time where they are in no order by id: the smaller the slice, the sooner it is steady.
      const cut = counted || isIdOrdered(resource) ? null : reading.cut?.(null, seen.size);
      if (cut) return cut;
      const shown = digestOf(seen);
      const same = state.before === shown || (round > 1 && !slipped && !byContent);
      if (same && repeated < pages) return finish();
      if (round >= MOST_ROUNDS) {
        // More rounds would be as much in vain: these stand for all tries of this task.
        task.tries.set(sliceText(slice), MOST_TRIES);
        return unproven('it showed other rows each time it was read');
      }
      state.before = shown;
      slipped = false;
      if (byContent) {
        seen.clear();
        held.length = 0;
        state.startedAt = null;
        anew = true;
      }
      return null;
    }
    const lacksRows = counted && steady && state.totalRecords !== null && seen.size < state.totalRecords;
    const inDoubt = [...seen].some(key => key.startsWith('?'));
    if (pages > 1 && lacksRows && !inDoubt && round < MOST_ROUNDS && !reading.cut?.(state.totalRecords, seen.size))
      return null;
    return finish();
  };

  let first: PageAnswer | null = null;
  if (page === 1 && round === 1) {
    const answer = await askFirst(reader, task, slice, query, state.limit);
    state.limit = answer.limit;
    state.totalPages = pagesOf(answer.meta, answer.rows.length);
    state.totalRecords = answer.meta?.totalRecords ?? null;
    const taken = take(answer);
    const learnt = [
      ...learnFromPage(resource, answer, state.totalPages),
      ...learnFilter(resource, reading, taken.rows),
    ];
    const end = endOfFirst(task, reading, answer, { taken, learnt, totalPages: state.totalPages, finish });
    yield step(answer, taken, { learnt, ...(end ? { end } : {}) });
    if (end) return;
    page = 2;
    first = answer;
  }

  for (; ; round++, page = 1) {
    if (state.totalPages !== null) {
      const last = state.totalPages;
      const pages = Array.from({ length: Math.max(last - page + 1, 0) }, (_, index) => page + index);
      for await (const answer of inOrder(reader, pages, ask)) {
        const taken = take(answer);
        // Fewer rows than the first page has are no such page again: they slipped, as where equal dates come in another order each time.
        const { length } = answer.rows;
        if (round === 1 && answer.page === 2 && taken.fresh === 0 && length > 0 && length >= seen.size) {
          const end =
            reading.cut?.(state.totalRecords, answer.rows.length) ?? cappedEnd(answer, state.startedAt as string);
          yield step(answer, taken, { learnt: [pagingIgnored(answer)], end });
          return;
        }
        if (answer.meta?.totalRecords !== undefined && answer.meta.totalRecords !== state.totalRecords) steady = false;
        if (answer.rows.length === 0) steady = false;
        const standing = step(answer, taken, {});
        const end = answer.page === last ? conclude(last) : null;
        yield ended(standing, end);
        if (end) return;
      }
      // Resumed behind its last page: nothing is left to ask, only to conclude.
      const end = pages.length === 0 ? conclude(last) : null;
      if (end) {
        yield ended({ resource, task, slice, rows: [], bad: [], requests: 0, release: () => undefined }, end);
        return;
      }
      continue;
    }

    // Without a count of pages, the list ends at a page that brings nothing new in this round.
    const here = new Set(round === 1 ? seen : []);
    repeated = 0;
    for (let before = first; ; page++) {
      const answer = await sureOfEnd(resource, before, await ask(page), () => ask(page));
      // Rows keyed by content would be counted as new ones, however often the same page comes.
      const again = before !== null && showsAgain(resource, before, answer);
      const taken = again ? { rows: [], bad: [], keys: [], fresh: 0 } : take(answer);
      const news = taken.keys.filter(key => !here.has(key)).length;
      for (const key of taken.keys) here.add(key);
      if (news > 0) repeated += taken.keys.length - news;
      before = answer;
      if (news === 0) {
        // Past the end a source may show its last page again. The first one again is all there is, though rows may have come.
        const firstKeys = new Set([...seen].slice(0, answer.rows.length));
        const keys = again ? parseRows(resource, answer, new Set()).keys : taken.keys;
        const firstAgain = 2 * keys.filter(key => firstKeys.has(key)).length > answer.rows.length;
        const learnt =
          round === 1 && (firstAgain || page === 2) ? [firstAgain ? pagingIgnored(answer) : UNTIL_EMPTY] : [];
        const standing = step(answer, taken, { learnt });
        const end =
          firstAgain && mayBeCut(resource, answer, slice)
            ? (reading.cut?.(null, answer.rows.length) ?? cappedEnd(answer, state.startedAt as string))
            : conclude(page - 1);
        yield ended(standing, end);
        if (end) return;
        break;
      }
      const cut = page > MOST_PAGES ? reading.cut?.(null, seen.size) : null;
      if (page >= PAGE_CEILING) {
        yield step(answer, taken, { end: unproven(`it did not end in ${PAGE_CEILING} pages`) });
        return;
      }
      if (cut) {
        yield step(answer, taken, { end: cut });
        return;
      }
      const second = page === 2 && round === 1;
      yield step(answer, taken, {
        learnt: second
          ? [...learnTurning(resource, answer, news), ...learnFromPage(resource, answer, null, first)]
          : [],
      });
    }
    first = null;
  }
}

/** Of the equal rows without an id in one answer, as many are sure as it holds, whichever number the reading has come to. */
function byCount(rows: readonly Row[]): { sure: Row[]; unsure: Row[] } {
  const content = ({ key }: Row) => key.slice(0, key.lastIndexOf('/'));
  const counts = new Map<string, number>();
  for (const row of rows) if (row.key.startsWith('#')) counts.set(content(row), (counts.get(content(row)) ?? 0) + 1);
  const isSure = (row: Row) =>
    !row.key.startsWith('#') || Number(row.key.slice(content(row).length + 1)) <= (counts.get(content(row)) ?? 0);
  return { sure: rows.filter(isSure), unsure: rows.filter(row => !isSure(row)) };
}

/** Whether the first page is all there is to a reading, and then how it ends. */
function endOfFirst(
  task: Task,
  reading: PageReading,
  answer: PageAnswer,
  known: {
    taken: ReturnType<typeof parseRows>;
    learnt: NonNullable<Step['learnt']>;
    totalPages: number | null;
    finish: () => End;
  },
): End | null {
  const { resource } = task;
  const { taken, totalPages } = known;
  const distrust = known.learnt.find(
    trait =>
      trait.trait === 'date filter' ||
      trait.trait.startsWith('filter ') ||
      (trait.trait === 'dates' && trait.value === 'no'),
  );
  if (distrust) return { kind: 'unproven', reason: distrust.evidence, startedAt: answer.grantedAt };
  const pageless = isPageless(resource);
  // Rows keyed by content can only be counted inside one answer.
  const onePageOnly = pageless || taken.rows.some(row => row.key.startsWith('#'));
  const capped = pageless && totalPages === null && mayBeCut(resource, answer, reading.slice);
  const tooLarge = capped || (totalPages ?? 1) > (onePageOnly ? 1 : MOST_PAGES);
  const cut = tooLarge ? reading.cut?.(answer.meta?.totalRecords ?? null, answer.rows.length) : null;
  if (cut) return cut;
  // Before it is given up, the next page has to show that there is still none.
  if (capped) return null;
  const single = totalPages === null ? pageless || answer.rows.length === 0 : totalPages <= 1;
  return single ? known.finish() : null;
}

const newestOf = (keys: Iterable<string>, known: bigint): bigint =>
  [...keys].filter(isId).reduce((newest, key) => (BigInt(key) > newest ? BigInt(key) : newest), known);

const digestOf = (keys: Iterable<string>): string =>
  createHash('sha256')
    .update([...keys].sort().join('\n'))
    .digest('base64');

function triedBefore(task: Task, slice: Slice): boolean {
  return (task.tries.get(sliceText(slice)) ?? 0) > 0;
}

/** Where a page that comes again can only be told by the page before it, a reading does not go on in the middle. */
function resumable(begun: ReadingState | undefined): ReadingState | undefined {
  return begun?.totalPages === null && begun.keys.some(key => key.startsWith('#')) ? undefined : begun;
}

function showsAgain(resource: Resource, before: PageAnswer, answer: PageAnswer): boolean {
  if (!isContentKeyed(resource.table) || answer.rows.length === 0 || answer.rows.length !== before.rows.length)
    return false;
  // The keys of a page by itself tell equal rows apart by their number.
  const keys = new Set(parseRows(resource, before, new Set()).keys);
  return parseRows(resource, answer, new Set()).keys.every(key => keys.has(key));
}

function cappedEnd(answer: PageAnswer, startedAt: string): End {
  const reason = `the source returned exactly ${answer.rows.length} rows and no further page, so more may be hidden`;
  return { kind: 'unproven', reason, startedAt };
}

/** A list that was a single page once, and came again as its own last one, has grown. */
const learnTurning = (resource: Resource, { page, rows }: PageAnswer, news: number) =>
  isPageless(resource) && 2 * news > rows.length
    ? [{ ...UNTIL_EMPTY, evidence: `page ${page} shows ${news} rows that page 1 does not` }]
    : [];

// A filter is believed only while every row it returns satisfies it; rows on the very edges show that these are included.
function learnFilter(
  resource: Resource,
  reading: PageReading,
  rows: readonly { values: Readonly<Record<string, string | null>> }[],
) {
  const { asked, slice } = reading;
  if (slice.by === 'value') {
    const { field, value } = slice;
    const others = rows.filter(row => row.values[field] !== undefined && row.values[field] !== value).length;
    const evidence = `asked for ${field}=${value}, got ${others} rows with another`;
    return others > 0 ? [{ trait: `filter ${field}`, value: 'ignored', evidence }] : [];
  }
  if (!asked) return [];
  if (resource.traits.get('dates') === 'no') return [];
  if (rows.length > 0 && rows.every(row => row.values[asked.field] === undefined)) {
    return [{ trait: 'dates', value: 'no', evidence: `rows come without the field "${asked.field}"` }];
  }
  const days = rows.map(row => row.values[asked.field]).filter((day): day is string => typeof day === 'string');
  const outside = days.filter(day => day < asked.from || day > asked.to).length;
  if (outside > 0) {
    return [
      {
        trait: 'date filter',
        value: 'ignored',
        evidence: `asked for ${asked.from} to ${asked.to}, got ${outside} rows outside`,
      },
    ];
  }
  const learnt: { trait: string; value: string; evidence: string }[] = [];
  if (days.includes(asked.from))
    learnt.push({
      trait: 'date from',
      value: 'inclusive',
      evidence: `asked from ${asked.from}, got a row of that day`,
    });
  if (days.includes(asked.to))
    learnt.push({ trait: 'date to', value: 'inclusive', evidence: `asked to ${asked.to}, got a row of that day` });
  return learnt;
}
