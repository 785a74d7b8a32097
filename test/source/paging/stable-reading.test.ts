import fc from 'fast-check';
import { expect, test } from 'vitest';
import { COMMON_CAPS, MOST_FRUITLESS_PAGES } from '../../../src/source/paging/page-count.ts';
import type { ListPage } from '../../../src/source/paging/pager.ts';
import { unreadableKey } from '../../../src/source/paging/row-key.ts';
import {
  endPass,
  type Position,
  pagesToRead,
  type Reading,
  type ReadingContext,
  type ReadingOutcome,
  readPage,
  startReading,
} from '../../../src/source/paging/stable-reading.ts';
import { createList, keysOf, type ListChange, type ModelRow, pageLength, type Style } from './list-model.ts';

const MAX_PAGES = 60;
/** Passes over a list, at most. */
const MAX_PASSES = 8;

interface Case {
  readonly rows: readonly ModelRow[];
  readonly style: Style;
  readonly limit: number;
  readonly changes: readonly ListChange[];
  readonly seed: number;
  /** The reading is stopped after so many pages and goes on in another process. */
  readonly stopAfter: number;
  readonly known: Partial<ReadingContext>;
}

interface Played {
  readonly outcome: ReadingOutcome;
  /** Keys shown since the reading began, or began afresh. */
  readonly shown: ReadonlySet<string>;
  readonly requests: number;
  readonly throughout: readonly ModelRow[];
}

/** A small generator of numbers from 0 to 1. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function play({ rows, style, limit, changes, seed, stopAfter, known }: Case): Played {
  const list = createList(rows, style, changes, createRandom(seed));
  const rules = { count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit } as const;
  let reading = startReading(rules);
  let shown = new Set<string>();
  let taken = 0;
  const contextOf = (length: number): ReadingContext => ({
    isSingleBody: false,
    looksCut: length === limit || COMMON_CAPS.includes(length),
    fullPage: Math.min(limit, style.pageSize),
    mayLackIds: rows.some(row => 'content' in row),
    canCut: false,
    isIdOrdered: !style.shuffles,
    cutsIfCountDiffers: false,
    mostBelieved: null,
    ...known,
  });
  const end = (outcome: ReadingOutcome): Played => ({
    outcome,
    shown,
    requests: list.requests(),
    throughout: list.throughout(),
  });
  for (;;) {
    const pages = pagesToRead(reading);
    if (pages.length === 0) {
      const ended = endPass(reading, reading.pager.page - 1, contextOf(0));
      if (ended.outcome) return end(ended.outcome);
      reading = ended.reading;
    }
    for (const page of pages) {
      const answer = list.ask(page, reading.limit);
      const keys = keysOf(answer.rows, reading.pager.seen);
      const came = { page, limit: reading.limit, rows: answer.rows.length, keys, meta: answer.meta, grantedAt: 'now' };
      if (reading.startedAt === null) shown = new Set();
      const read = readPage(reading, came, contextOf(answer.rows.length));
      if (read.position !== null && !read.taken.isDuplicate) for (const key of keys) shown.add(key);
      reading = read.reading;
      if (read.outcome) return end(read.outcome);
      if (read.position === null) break;
      if (++taken === stopAfter) {
        reading = startReading(rules, { ...read.position, keys: [...shown] });
        if (reading.startedAt === null) shown = new Set();
        break;
      }
    }
  }
}

const style: fc.Arbitrary<Style> = fc.record({
  meta: fc.constantFrom('full', 'records', 'none'),
  limit: fc.constantFrom('honoured', 'clamped', 'ignored'),
  pageSize: fc.oneof(fc.integer({ min: 3, max: 40 }), fc.constantFrom(20, 50)),
  page: fc.oneof(
    { weight: 4, arbitrary: fc.constant('turned' as const) },
    fc.constantFrom('ignored', 'capped', 'whole'),
  ),
  pastEnd: fc.constantFrom('empty', 'last page', 'first page', 'wraps'),
  shuffles: fc.constant(false),
});

const idRows = (count: number): ModelRow[] => Array.from({ length: count }, (_, index) => ({ id: count - index }));
/** Every third row is unlike all others, so that no page equals the one before it. */
const bareRows = (count: number): ModelRow[] =>
  Array.from({ length: count }, (_, index) => ({ content: index % 3 === 0 ? `row ${index}` : `equal ${index % 4}` }));

const cases: fc.Arbitrary<Case> = fc.record({
  rows: fc
    .tuple(fc.oneof(fc.integer({ min: 0, max: 130 }), fc.constantFrom(20, 40, 50, 100)), fc.boolean())
    .map(([count, isBare]) => (isBare ? bareRows(count) : idRows(count))),
  style,
  limit: fc.constantFrom(7, 20, 50, 1000),
  changes: fc.constant([]),
  seed: fc.nat(),
  stopAfter: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 12 })),
  known: fc.constant({}),
});

/** Keys of rows that were there throughout, and that the reading has not shown. */
function missing({ shown, throughout }: Played): string[] {
  return keysOf(throughout, new Set()).filter(key => !shown.has(key));
}

/** A pass reads at most the pages of the list, one to see its end, and one more where an empty page is in doubt. */
const mostRequests = (each: Case): number => {
  const pages = Math.ceil((each.rows.length + insertedIn(each)) / Math.min(each.limit, each.style.pageSize));
  // Without ids, a page that comes again past the end is told only from the one before it: that takes two more.
  return (MAX_PASSES + 1) * Math.min(pages + 4, MAX_PAGES);
};

const insertedIn = ({ changes }: Case): number => changes.reduce((sum, change) => sum + change.insert, 0);

const lengthOf = ({ style, limit, rows }: Case): number => pageLength(style, limit, rows.length);

const isCapped = (each: Case): boolean =>
  (each.style.page === 'capped' || each.style.page === 'ignored') &&
  each.rows.length + insertedIn(each) > lengthOf(each);

/** Without ids nor a count, a source that shows its first page past the end cannot be told from one that goes on. */
const goesOnForEver = ({ rows, style: { page, meta, pastEnd } }: Case): boolean =>
  rows.some(row => 'content' in row) && page === 'turned' && meta !== 'full' && pastEnd === 'wraps';

test('a list that does not change is read completely or reported as possibly cut off, whatever its paging', () => {
  fc.assert(
    fc.property(cases, each => {
      const played = play(each);
      if (played.outcome.kind === 'complete') {
        // A list cut off at a length that no source is known to stop at cannot be told from a whole one.
        const looksCut = lengthOf(each) === each.limit || COMMON_CAPS.includes(lengthOf(each));
        if (!isCapped(each) || looksCut) expect(missing(played)).toEqual([]);
      }
      const limit = goesOnForEver(each) ? (MAX_PASSES + 1) * MAX_PAGES : mostRequests(each);
      expect(played.requests).toBeLessThanOrEqual(limit);
    }),
    { numRuns: 400 },
  );
});

test('a list with pages that ends with an empty one is complete, counted or not, in one pass or two', () => {
  fc.assert(
    fc.property(cases, each => {
      const plain = { ...each, stopAfter: 0, style: { ...each.style, page: 'turned', pastEnd: 'empty' } as const };
      const played = play(plain);
      const pages = Math.max(Math.ceil(plain.rows.length / lengthOf(plain)), 1);
      if (pages > MAX_PAGES) return;
      expect(played.outcome?.kind).toBe('complete');
      expect(missing(played)).toEqual([]);
      const isBare = plain.rows.some(row => 'content' in row);
      const isCounted = plain.style.meta === 'full';
      const passes = pages > 1 && (isBare || !isCounted) ? 2 : 1;
      // The end is one page further behind a full last page; without a count always, and it is asked for twice there.
      expect(played.requests).toBeLessThanOrEqual(passes * (pages + (isCounted ? 1 : 2)));
      expect(played.requests).toBeGreaterThanOrEqual(passes * pages);
    }),
    { numRuns: 250 },
  );
});

/** Rows are inserted all the time, and deleted between two requests: the rows behind them slip to a page already read. */
const changing = fc
  .tuple(
    cases,
    fc.array(fc.record({ request: fc.integer({ min: 2, max: 20 }), insert: fc.integer({ min: 0, max: 3 }) }), {
      maxLength: 4,
    }),
    fc.record({ request: fc.integer({ min: 2, max: 8 }), remove: fc.array(fc.nat({ max: 200 }), { maxLength: 6 }) }),
  )
  .map(([each, inserts, deletion]) => ({ each, inserts, deletion }));

test('a complete reading shows all rows that existed throughout, although others were inserted', () => {
  fc.assert(
    fc.property(changing, ({ each, inserts }) => {
      const changed = { ...each, changes: inserts.map(insert => ({ ...insert, remove: [] })) };
      const played = play(changed);
      if (played.outcome.kind === 'complete' && !isCapped(changed)) expect(missing(played)).toEqual([]);
      expect(played.requests).toBeLessThanOrEqual((MAX_PASSES + 1) * MAX_PAGES);
    }),
    { numRuns: 300 },
  );
});

test('a complete reading shows all rows that existed throughout, although others were deleted between two requests', () => {
  fc.assert(
    fc.property(changing, ({ each, deletion }) => {
      const changed = { ...each, changes: [{ ...deletion, insert: 0 }] };
      const played = play(changed);
      if (played.outcome.kind === 'complete' && !isCapped(changed)) expect(missing(played)).toEqual([]);
      expect(played.requests).toBeLessThanOrEqual((MAX_PASSES + 1) * MAX_PAGES);
    }),
    { numRuns: 300 },
  );
});

test('a counted list in another order at each request is read until all rows were seen, or is left in doubt', () => {
  const outcomes = new Set<string>();
  fc.assert(
    fc.property(cases, each => {
      const shuffled = { ...each, style: { ...each.style, meta: 'full', page: 'turned', shuffles: true } as const };
      const played = play(shuffled);
      outcomes.add(played.outcome.kind);
      if (played.outcome.kind === 'complete') expect(missing(played)).toEqual([]);
      expect(played.requests).toBeLessThanOrEqual(mostRequests(shuffled));
    }),
    { numRuns: 250 },
  );
  expect(outcomes).toEqual(new Set(['complete', 'count differs', 'never stable']));
});

test('a list that shows different rows in every pass is left in doubt after eight', () => {
  const rows = idRows(30);
  const changes = Array.from({ length: 100 }, (_, request) => ({ request, insert: 0, remove: [0] }));
  const paged: Style = {
    meta: 'none',
    limit: 'clamped',
    pageSize: 3,
    page: 'turned',
    pastEnd: 'empty',
    shuffles: true,
  };
  const settings = { rows: bareRows(90), style: paged, limit: 20, changes: [], seed: 1, stopAfter: 0, known: {} };
  expect(play(settings).outcome).toEqual({ kind: 'never stable' });
  // Deletions alone end it: nothing is left.
  expect(play({ ...settings, rows, changes, style: { ...paged, shuffles: false } }).outcome.kind).toBe('complete');
});

/** Reads all passes of a list without a count that cannot be cut; `pass` says which ids it shows, in pages of two. */
function readPasses(pass: (number: number) => readonly string[]): { passes: number; outcome: ReadingOutcome } {
  const context = { ...CONTEXT, fullPage: 2, isIdOrdered: false };
  let reading = startReading({ count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit: 2 });
  for (;;) {
    const [page] = pagesToRead(reading) as [number];
    const keys = pass(reading.pager.pass).slice(2 * (page - 1), 2 * page);
    const shown = { page, limit: 2, grantedAt: 'now', rows: keys.length, keys, meta: undefined };
    const { reading: next, outcome } = readPage(reading, shown, context);
    if (outcome) return { passes: reading.pager.pass, outcome };
    reading = next;
  }
}

test('a list that changes as fast as it is read is left in doubt after three passes, one whose rows come to light after more', () => {
  const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => String(from + index));
  // Ten rows more in each pass, among those that were there.
  expect(readPasses(pass => ids(200 - 10 * pass, 220))).toEqual({ passes: 3, outcome: { kind: 'never stable' } });
  // Each pass shows two thirds of the rows that are left.
  expect(readPasses(pass => ids(Math.floor(40 / 3 ** pass), 40))).toMatchObject({
    passes: 5,
    outcome: { kind: 'complete' },
  });
});

test('a slice that can be cut is cut instead of being read again and again', () => {
  fc.assert(
    fc.property(cases, each => {
      const slice = {
        ...each,
        known: { canCut: true, isIdOrdered: false, cutsIfCountDiffers: true },
      };
      const { outcome, requests } = play({ ...slice, stopAfter: 0 });
      expect(['complete', 'cut', 'count differs', 'unsteady']).toContain(outcome.kind);
      // Its ten pages, one to see that there are more, and one that is asked for twice.
      expect(requests).toBeLessThanOrEqual(12);
    }),
    { numRuns: 400 },
  );
});

/** A list in the order of ids that cannot be cut. */
const CONTEXT: Omit<ReadingContext, 'fullPage'> = {
  isSingleBody: false,
  looksCut: false,
  mayLackIds: false,
  canCut: false,
  isIdOrdered: true,
  cutsIfCountDiffers: false,
  mostBelieved: null,
};

/** A digest of rows. */
const SOME = expect.any(String) as string;

test('a count that never agrees with the rows is not trusted', () => {
  const context = { ...CONTEXT, fullPage: 10 };
  const outcomes: (ReadingOutcome | null)[] = [];
  let reading = startReading({ count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit: 10 });
  // By its rows, a list of 21 in pages of 10 has three, though it counts two.
  for (const page of [1, 2, 3]) {
    expect(pagesToRead(reading)[0]).toBe(page);
    const keys = Array.from({ length: page < 3 ? 10 : 0 }, (_, index) => String(10 * page + index));
    const meta = { totalPages: 2, totalRecords: 21 };
    const read = readPage(reading, { page, limit: 10, rows: keys.length, keys, meta, grantedAt: 'now' }, context);
    outcomes.push(read.outcome);
    reading = read.reading;
  }
  expect(outcomes).toEqual([null, null, { kind: 'count differs', counted: 21, shown: 20, rows: SOME }]);
});

test.each([
  { behind: 0, outcome: { kind: 'complete', reached: { rows: 20, last: '', counted: true, pages: 3 } } },
  { behind: 3, outcome: { kind: 'unsteady', rows: SOME } },
])('a list with $behind rows behind a full last page ends behind that', ({ behind, outcome }) => {
  const context = { ...CONTEXT, fullPage: 10 };
  let reading = startReading({ count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit: 10 });
  const outcomes: (ReadingOutcome | null)[] = [];
  for (let page = 1; outcomes.at(-1) == null; page++) {
    const keys = Array.from({ length: page < 3 ? 10 : behind }, (_, index) => String(10 * page + index));
    const answer = { page, limit: 10, rows: keys.length, keys, last: '', meta: { totalPages: 2, totalRecords: 20 } };
    const read = readPage(reading, { ...answer, grantedAt: 'now' }, context);
    outcomes.push(read.outcome);
    reading = read.reading;
  }
  expect(outcomes).toEqual([null, null, outcome]);
});

test.each([20, 30])(
  'a second page that repeats the first shows that pages are ignored, unless the list grew (%i rows by then)',
  counted => {
    let reading = startReading({ count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit: 10 });
    const keys = Array.from({ length: 10 }, (_, index) => String(index));
    const repeatsFirst = [20, counted].map((totalRecords, index) => {
      const answer = { page: index + 1, limit: 10, rows: 10, keys, meta: { totalPages: 2, totalRecords } };
      const read = readPage(reading, { ...answer, grantedAt: 'now' }, { ...CONTEXT, fullPage: 10 });
      reading = read.reading;
      return read.taken.repeatsFirst;
    });
    expect(repeatsFirst).toEqual([false, counted === 20]);
  },
);

test.each([1, 2])('behind a full last page, page %i again shows no further row, even where rows have no id', again => {
  let reading = startReading({ count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit: 10 });
  const keysOf = (page: number, number: number) =>
    Array.from({ length: 10 }, (_, row) => `#${10 * page + row}/${number}`);
  const pages = [keysOf(1, 1), keysOf(2, 1), keysOf(again, 2)];
  const reads = pages.map((keys, index) => {
    const answer = { page: index + 1, limit: 10, rows: 10, keys, meta: { totalPages: 2, totalRecords: 20 } };
    const read = readPage(reading, { ...answer, grantedAt: 'now' }, { ...CONTEXT, fullPage: 10 });
    reading = read.reading;
    return [read.outcome?.kind, read.taken.isDuplicate, read.reading.pager.pass];
  });
  // Rows without an id take a second pass.
  expect(reads).toEqual([
    [undefined, false, 1],
    [undefined, false, 1],
    [undefined, true, 2],
  ]);
});

/** Plays a list whose pages are these numbers of rows; returns the pages asked for, and how it ended. */
function readLengths(lengths: readonly number[], more: Partial<ListPage>, faulty: readonly number[] = []) {
  const asked: number[] = [];
  const left = [...faulty];
  let reading = startReading({ count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit: 10 });
  for (;;) {
    const page = pagesToRead(reading)[0] as number;
    asked.push(page);
    const isFaulty = left[0] === page;
    if (isFaulty) left.shift();
    const rows = isFaulty ? 0 : (lengths[page - 1] ?? 0);
    const keys = Array.from({ length: rows }, (_, index) => String(100 * page + index));
    const answer = { page, limit: 10, rows, keys, meta: undefined, grantedAt: 'now', ...more };
    const read = readPage(reading, answer, { ...CONTEXT, fullPage: 10, canCut: true, isIdOrdered: false });
    reading = read.reading;
    if (read.outcome) return { asked, outcome: read.outcome.kind };
  }
}

test('pages without rows that only a doubtful count promises are no pages of the list', () => {
  expect(readLengths([], { promised: 50 })).toEqual({ asked: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], outcome: 'complete' });
  expect(readLengths([6], { promised: 3 })).toEqual({ asked: [1, 2, 3], outcome: 'complete' });
});

test('a page without rows that a count promises is asked for once more', () => {
  const meta = { totalPages: 3, totalRecords: 26 };
  expect(readLengths([10, 10, 6], { meta }, [2])).toEqual({ asked: [1, 2, 2, 3], outcome: 'complete' });
  expect(readLengths([10, 0, 6], { meta })).toEqual({ asked: [1, 2, 2, 3], outcome: 'count differs' });
});

test('a list that shows as many rows as it counts is complete, however many pages it counts', () => {
  const meta = { totalPages: 9, totalRecords: 13 };
  expect(readLengths([10, 3], { meta }).outcome).toBe('complete');
});

test('a list that shows its last page again and again is not read as far as a count of other rows promises', () => {
  const meta = { totalPages: 100, totalRecords: 1000 };
  const keys = Array.from({ length: 18 }, (_, index) => String(index + 1));
  const rules = { count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit: 10 } as const;
  let reading = startReading(rules);
  let requests = 0;
  for (;;) {
    const [page = 0] = pagesToRead(reading);
    const shown = page === 1 ? keys.slice(0, 10) : keys.slice(10);
    const answer = { page, limit: 10, grantedAt: 'now', rows: shown.length, keys: shown, meta };
    const read = readPage(reading, answer, { ...CONTEXT, fullPage: 10 });
    reading = read.reading;
    requests++;
    if (read.outcome === null) continue;
    expect(read.outcome).toEqual({ kind: 'count differs', counted: 1000, shown: 18, rows: SOME });
    break;
  }
  expect(requests).toBe(2 + MOST_FRUITLESS_PAGES);
});

test('a first page that lacks rows makes later passes no longer', () => {
  const context = { ...CONTEXT, fullPage: 20 };
  let reading = startReading({ count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit: 20 });
  const meta = { totalPages: 4, totalRecords: 78 };
  const keys = (from: number, rows: number) => Array.from({ length: rows }, (_, index) => String(from + index));
  const take = (page: number, came: readonly string[]) => {
    const read = readPage(reading, { page, limit: 20, grantedAt: 'now', rows: came.length, keys: came, meta }, context);
    reading = read.reading;
    return read.outcome;
  };
  take(1, keys(1, 10));
  expect(pagesToRead(reading)).toEqual([2, 3, 4, 5, 6, 7, 8]);
  take(2, keys(21, 19));
  // Behind the pages that the source counts, the last comes again.
  for (const page of [3, 4, 5]) expect(take(page, keys(21, 19))).toBeNull();
  expect(reading.pager.pass).toBe(2);
  expect(pagesToRead(reading)).toEqual([1, 2, 3, 4, 5]);
  take(1, keys(1, 20));
  for (const page of [2, 3, 4, 5]) expect(take(page, keys(21, 19))).toBeNull();
  expect(pagesToRead(reading)).toEqual([1, 2, 3, 4]);
});

test.each(
  ['empty', 'first', 'last'].flatMap(behind => [
    { behind, restarts: false },
    { behind, restarts: true },
  ]),
)(
  'a counted list whose first page lacks rows ends behind its last page by the count, where it is $behind (restarts: $restarts)',
  ({ behind, restarts }) => {
    const pages = [
      ['9', '8', '7'],
      ['6', '5', '4', '3', '2'],
    ];
    const meta = { totalPages: 2, totalRecords: 12 };
    const rules = { count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit: 6 } as const;
    let reading = startReading(rules);
    const outcomes = [];
    let requests = 0;
    for (;;) {
      const [page = 0] = pagesToRead(reading);
      const keys = pages[page - 1] ?? { empty: [], first: pages[0], last: pages[1] }[behind] ?? [];
      const answer = { page, limit: 6, grantedAt: 'now', rows: keys.length, keys, meta };
      const read = readPage(reading, answer, { ...CONTEXT, fullPage: 6, canCut: true });
      reading = read.reading;
      requests++;
      if (restarts && page === 1 && read.position) reading = startReading(rules, { ...read.position, keys });
      if (read.outcome === null) continue;
      outcomes.push(read.outcome);
      break;
    }
    expect(outcomes).toEqual([{ kind: 'count differs', counted: 12, shown: 8, rows: SOME }]);
    expect(requests).toBe(3);
  },
);

/** An id, a row without one, or a record that cannot be read. */
type Shown = number | 'row' | 'null';

test.each<[string, Shown]>([
  ['a record that cannot be read', 'null'],
  ['rows without an id', 'row'],
])('an uncounted list with %s that begins again behind its end has an end', (_, first) => {
  const unreadable = `?${'a'.repeat(32)}`;
  const pages: Shown[][] = [
    [first, 8, 7],
    [6, first, 4],
    [3, 2],
  ];
  let reading = startReading({ count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit: 3 });
  const keyOf = (row: Shown): string => {
    let ordinal = 1;
    if (row === 'row') while (reading.pager.seen.has(`#row/${ordinal}`)) ordinal++;
    if (row === 'null') while (reading.pager.shown.has(unreadableKey(unreadable, ordinal))) ordinal++;
    return row === 'row' ? `#row/${ordinal}` : row === 'null' ? unreadableKey(unreadable, ordinal) : String(row);
  };
  let outcome: ReadingOutcome | null = null;
  let requests = 0;
  while (outcome === null) {
    const [page = 0] = pagesToRead(reading);
    const rows = pages[page - 1] ?? (pages[0] as Shown[]);
    const answer = { page, limit: 3, grantedAt: 'now', rows: rows.length, keys: rows.map(keyOf), meta: undefined };
    const read = readPage(reading, answer, { ...CONTEXT, fullPage: 3, mayLackIds: first === 'row' });
    ({ reading, outcome } = read);
    requests++;
  }
  expect([outcome.kind, requests]).toEqual(['complete', 8]);
});

test('a reading that goes on after a restart in its second pass still tells how many rows the list has', () => {
  const context = { ...CONTEXT, fullPage: 2 };
  const rules = { count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit: 2 } as const;
  const pages = [['5', '4'], ['3'], []];
  let reading = startReading(rules);
  const take = (page: number) => {
    const keys = pages[page - 1] as string[];
    const read = readPage(
      reading,
      { page, limit: 2, grantedAt: 'now', rows: keys.length, keys, meta: undefined, last: keys.at(-1) ?? null },
      context,
    );
    reading = read.reading;
    return read;
  };
  let position: ReturnType<typeof take>['position'] = null;
  while (reading.pager.pass === 1) take(pagesToRead(reading)[0] as number);
  ({ position } = take(1));
  if (position === null) throw new Error('the second pass ended with its first page');
  reading = startReading(rules, { ...position, keys: ['5', '4', '3'] });
  let outcome: ReadingOutcome | null = null;
  while (outcome === null) ({ outcome } = take(pagesToRead(reading)[0] as number));
  expect(outcome).toEqual({ kind: 'complete', reached: { rows: 3, last: '3', counted: false, pages: 3 } });
});

test('a reading that goes on after a restart behind the last row still tells where the list ended', () => {
  const context = { ...CONTEXT, fullPage: 2 };
  const rules = { count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit: 2 } as const;
  const meta = { totalPages: 1, totalRecords: 2 };
  const page = { page: 1, limit: 2, grantedAt: 'now', rows: 2, keys: ['5', '4'], meta, last: '4' };
  const { position } = readPage(startReading(rules), page, context);
  const restarted = startReading(rules, { ...(position as Position), keys: ['5', '4'] });
  expect(pagesToRead(restarted)).toEqual([2]);
  const behind = { page: 2, limit: 2, grantedAt: 'later', rows: 0, keys: [], meta, last: null };
  expect(readPage(restarted, behind, context).outcome).toEqual({
    kind: 'complete',
    reached: { rows: 2, last: '4', counted: true, pages: 2 },
  });
});

test('the only page of a list without ids is read again after a restart: which of its rows are new was lost', () => {
  const context = { ...CONTEXT, fullPage: 2 };
  const rules = { count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit: 2 } as const;
  const keys = ['#a/1', '#b/1'];
  const restartAfter = (meta: { totalPages: number; totalRecords: number }) => {
    const page = { page: 1, limit: 2, grantedAt: 'now', rows: 2, keys, meta, last: '#b/1' };
    const { position } = readPage(startReading(rules), page, context);
    return pagesToRead(startReading(rules, { ...(position as Position), keys }));
  };
  expect(restartAfter({ totalPages: 1, totalRecords: 2 })).toEqual([1]);
  // Of more pages, two passes have to agree.
  expect(restartAfter({ totalPages: 2, totalRecords: 4 })).toEqual([2]);
});

test('a counted list without an order is read again, though it shows a record with an id that cannot be stored', () => {
  const context = { ...CONTEXT, fullPage: 3, isIdOrdered: false };
  let reading = startReading({ count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit: 3 });
  const meta = { totalPages: 2, totalRecords: 5 };
  const beyond = '?9223372036854775808';
  // The first pass shows row 2 twice, and row 4 on neither page.
  const passes = [
    [
      ['1', '2', beyond],
      ['2', '5'],
    ],
    [
      ['4', '1', beyond],
      ['5', '2'],
    ],
  ];
  const outcomes: (ReadingOutcome | null)[] = [];
  for (const pass of passes)
    for (const [index, keys] of pass.entries()) {
      const page = { page: index + 1, limit: 3, grantedAt: 'now', rows: keys.length, keys, meta };
      const read = readPage(reading, page, context);
      reading = read.reading;
      outcomes.push(read.outcome);
    }
  expect(outcomes.slice(0, 3)).toEqual([null, null, null]);
  expect(outcomes[3]).toMatchObject({ kind: 'complete' });
});

test('rows without ids that come again on the second page are not read page by page, whatever is counted', () => {
  const played = (contents: readonly string[], counted: number) => {
    const context = { ...CONTEXT, fullPage: 2, mayLackIds: true };
    let reading = startReading({ count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit: 2 });
    const meta = { totalPages: Math.ceil(counted / 2), totalRecords: counted };
    const rows = contents.map(content => ({ content }));
    for (const page of [1, 2]) {
      const keys = keysOf(rows, reading.pager.seen);
      const read = readPage(reading, { page, limit: 2, grantedAt: 'now', rows: rows.length, keys, meta }, context);
      if (read.outcome) return read.outcome;
      reading = read.reading;
    }
    return null;
  };
  expect(played(['a'], 532)).toEqual({ kind: 'capped', rows: 1 });
  expect(played(['a', 'b'], 532)).toEqual({ kind: 'capped', rows: 2 });
  // Equal rows fill two pages.
  expect(played(['a', 'a'], 6)).toBeNull();
});

test('a count that moved before a restart is remembered, even if it is what it was again: a row may have slipped', () => {
  const rules = { count: 'first', maxPages: MAX_PAGES, maxPagesOfSlice: 10, limit: 2 } as const;
  const take = (reading: Reading, page: number, keys: string[], totalRecords: number) =>
    readPage(
      reading,
      { page, limit: 2, rows: 2, keys, meta: { totalPages: 3, totalRecords }, grantedAt: 'now' },
      { ...CONTEXT, fullPage: 3 },
    );
  const first = take(startReading(rules), 1, ['1', '2'], 6);
  const second = take(first.reading, 2, ['3', '4'], 7);
  // Row 8 has come, and row 1 gone, so that row 5 is on the second page now.
  const restarted = startReading(rules, { ...(second.position as Position), keys: ['1', '2', '3', '4'] });
  expect(take(restarted, 3, ['6', '8'], 6).outcome).toEqual({ kind: 'unsteady', rows: null });
});
