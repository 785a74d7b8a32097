import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ListOrder } from '../../../src/engine/profile/observation.ts';
import {
  addressesBehind,
  addressOf,
  afterPage,
  missOf,
  offsetAfter,
  type Search,
} from '../../../src/engine/read/ids/locate-range.ts';
import { type AddressedPage, type Place, placePage } from '../../../src/engine/read/ids/place-page.ts';
import type { IdSlice } from '../../../src/engine/slices/slice.ts';

interface Source {
  /** In the order of the list. */
  readonly ids: readonly bigint[];
  readonly pageSize: number;
  readonly isCounted: boolean;
  readonly pastEnd: 'empty' | 'last page';
  /** They keep their places in pages, and are neither shown nor counted. */
  readonly hidden?: readonly bigint[];
}

function pageOf(
  { ids, pageSize, isCounted, pastEnd, hidden = [] }: Source,
  address: { page: number; limit: number },
): AddressedPage {
  const size = Math.min(address.limit, pageSize);
  const pages = Math.max(Math.ceil(ids.length / size), 1);
  const at = address.page > pages && pastEnd === 'last page' ? pages : address.page;
  const shown = ids.slice((at - 1) * size, at * size).filter(id => !hidden.includes(id));
  const totalRecords = ids.length - hidden.length;
  const meta = isCounted ? { totalPages: Math.max(Math.ceil(totalRecords / size), 1), totalRecords } : undefined;
  return { ...address, rows: shown.length, ids: shown, meta, isFull: true };
}

const isWithin = (slice: IdSlice, id: bigint): boolean =>
  (slice.from === null || slice.from <= id) && (slice.to === null || id <= slice.to);

const sources = fc
  .record({
    ids: fc.uniqueArray(fc.bigInt({ min: 1n, max: 600n }), { maxLength: 150 }),
    isDescending: fc.boolean(),
    pageSize: fc.integer({ min: 10, max: 30 }),
    isCounted: fc.boolean(),
    pastEnd: fc.constantFrom('empty' as const, 'last page' as const),
  })
  .map(({ ids, isDescending, ...source }) => ({
    isDescending,
    source: { ...source, ids: ids.sort((a, b) => Number(isDescending ? b - a : a - b)) },
  }));

/** The pages that a search takes, and the one it ends with. `stored`: the ids in the warehouse. */
function search(
  source: Source,
  { isDescending, start, stored }: { isDescending: boolean; start: bigint | null; stored: readonly bigint[] },
): { places: Place[]; found: Place | null } {
  const order: ListOrder = isDescending ? 'id-desc' : 'id-asc';
  const rank = (id: bigint) => stored.filter(each => (isDescending ? each > id : each < id)).length;
  const { pageSize: size } = source;
  let looking: Search = {
    start,
    isDescending,
    size,
    limit: size,
    isSized: true,
    offset: start === null ? 0 : Math.max(rank(start) - 1, 0),
    isFixed: false,
    corrections: 0,
    previous: null,
    pastEnd: Number.POSITIVE_INFINITY,
  };
  const places: Place[] = [];
  for (;;) {
    const page = pageOf(source, addressOf(looking));
    const place = placePage(page, order);
    places.push(place);
    const miss = missOf(looking, place, page);
    const rowsBetween = miss && 'between' in miss ? Math.abs(rank(miss.between[0]) - rank(miss.between[1])) : 0;
    const offset = offsetAfter(looking, place, miss, rowsBetween);
    const next = afterPage(looking, place, page, { offset, isLimitHonoured: true });
    if (next.kind === 'stop') return { places, found: null };
    if (next.kind === 'found') return { places, found: place };
    looking = next.search;
  }
}

test('a page as long as asked for that shows more rows than the list is counted with does not end it', () => {
  const ids = Array.from({ length: 250 }, (_, n) => BigInt(250 - n));
  const counted = (page: number, total: number) => {
    const shown = ids.slice((page - 1) * 99, page * 99);
    const meta = { totalPages: Math.ceil(total / 99), totalRecords: total };
    return placePage({ page, limit: 99, rows: shown.length, ids: shown, meta, isFull: true }, 'id-desc');
  };
  expect(counted(2, 190).isEnd).toBe(false);
  expect([counted(3, 190).isEnd, counted(3, 250).isEnd, counted(2, 198).isEnd]).toEqual([true, true, true]);
});

test('a page that ends behind more rows than are counted is too early, where rows that the key may not see keep their places', () => {
  const ids = Array.from({ length: 24 }, (_, n) => BigInt(29 - n));
  const hidden = ids.slice(1, 9);
  const source: Source = { ids, pageSize: 20, isCounted: true, pastEnd: 'empty', hidden };
  const looking = { start: 7n, isDescending: true, corrections: 1 } as Search;
  const missOn = (page: number, limit: number) => {
    const shown = pageOf(source, { page, limit });
    return missOf(looking, placePage(shown, 'id-desc'), shown);
  };
  expect(missOn(1, 20)).toEqual({ kind: 'too early', between: [7n, 10n] });
  expect(missOn(2, 11)).toEqual({ kind: 'too early', between: [7n, 8n] });
  expect(missOn(2, 20)).toBe(null);
});

test('a page proves only ids of which it shows every row', () => {
  fc.assert(
    fc.property(sources, fc.integer({ min: 1, max: 12 }), fc.integer({ min: 2, max: 40 }), (given, page, limit) => {
      const { source, isDescending } = given;
      const shown = pageOf(source, { page, limit });
      const { interval } = placePage(shown, isDescending ? 'id-desc' : 'id-asc');
      if (interval === null) return;
      expect(source.ids.filter(id => isWithin(interval, id) && !shown.ids?.includes(id))).toEqual([]);
    }),
    { numRuns: 1000 },
  );
});

test('the last page again, behind a list that is counted longer than it is, proves no more than it shows', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 9 }),
      fc.integer({ min: 2, max: 5 }),
      fc.boolean(),
      (limit, pages, isDescending) => {
        const ids = Array.from({ length: limit * pages }, (_, n) => BigInt(isDescending ? limit * pages - n : n + 1));
        const meta = { totalPages: 2 * pages, totalRecords: 2 * ids.length };
        const shown = ids.slice(-limit);
        const order = isDescending ? 'id-desc' : 'id-asc';
        const lastPage = { limit, rows: limit, ids: shown, meta, isFull: true };
        const place = placePage({ ...lastPage, page: pages }, order);
        const { interval } = placePage({ ...lastPage, page: pages + 1 }, order, place, place);
        const [least, most] = isDescending ? [shown.at(-1), shown[0]] : [shown[0], shown.at(-1)];
        expect(interval).toEqual({ by: 'id', from: least, to: most });
      },
    ),
  );
});

test('if the stored rows match the source, the first page requested holds the start of the range', () => {
  fc.assert(
    fc.property(sources, fc.bigInt({ min: 1n, max: 600n }), ({ source, isDescending }, start) => {
      const { places, found } = search(source, { isDescending, start, stored: source.ids });
      const isBehindAll = source.ids.every(id => (isDescending ? id > start : id < start));
      if (!isBehindAll) expect(places).toHaveLength(1);
      if (!isBehindAll && found?.interval) {
        const next = source.ids.find(id => (isDescending ? id <= start : id >= start)) as bigint;
        expect(isWithin(found.interval, next)).toBe(true);
      }
    }),
    { numRuns: 1000 },
  );
});

test('a search ends after the first page and five corrections, however much the stored rows differ', () => {
  const stored = fc.uniqueArray(fc.bigInt({ min: 1n, max: 600n }), { maxLength: 150 });
  fc.assert(
    fc.property(
      sources,
      fc.option(fc.bigInt({ min: 1n, max: 600n })),
      stored,
      ({ source, isDescending }, start, rows) => {
        const { places } = search(source, { isDescending, start, stored: rows });
        expect(places.length).toBeLessThanOrEqual(6);
      },
    ),
    { numRuns: 1000 },
  );
});

test('every address behind the start reaches further and leaves out no row, and they end with the count', () => {
  const behind = fc.record({
    offset: fc.nat(80),
    total: fc.option(fc.nat(100)),
    rows: fc.integer({ min: 1, max: 50 }),
    isFixed: fc.boolean(),
  });
  fc.assert(
    fc.property(behind, ({ offset, total, rows, isFixed }) => {
      // Pages of a fixed size begin where the one before ends.
      const lastOffset = isFixed ? Math.ceil((offset + 1) / rows) * rows - 1 : offset;
      const place = { lastOffset, total } as Place;
      let reached = lastOffset;
      let count = 0;
      for (const { page, limit } of addressesBehind(place, { rows, isFixed, most: Number.POSITIVE_INFINITY })) {
        expect((page - 1) * limit).toBeLessThanOrEqual(reached + 1);
        expect(page * limit - 1).toBeGreaterThan(reached);
        reached = page * limit - 1;
        // Without a count, only the answers show the end.
        if (++count === 120) break;
      }
      if (total !== null) expect(count).toBeLessThan(120);
    }),
    { numRuns: 1000 },
  );
});

test('an answer that came before is asked for again, unless it has more rows than pages have now', () => {
  const place = { lastOffset: 98, total: 1000 } as Place;
  const behind = (before: { page: number; limit: number }) =>
    [...addressesBehind(place, { rows: 100, isFixed: false, most: 1, known: () => before })][0];
  expect(behind({ page: 3, limit: 49 })).toEqual({ page: 3, limit: 49 });
  expect(behind({ page: 1, limit: 999 })).toEqual({ page: 2, limit: 98 });
});
