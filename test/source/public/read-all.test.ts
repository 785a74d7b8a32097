import fc from 'fast-check';
import { expect, test } from 'vitest';
import { COMMON_CAPS } from '../../../src/source/paging/page-count.ts';
import { readAll } from '../../../src/source/public/read-all.ts';
import { createList, type ModelRow, pageLength, type Style } from '../paging/list-model.ts';

const MAX_PAGES = 60;

async function gather(rows: readonly ModelRow[], style: Style, limit: number, random: () => number = () => 0) {
  const list = createList(rows, style, [], random);
  const ask = async (page: number, size: number) => {
    const { rows, meta } = list.ask(page, size);
    return { rows: [...rows], ...(meta && { meta }) };
  };
  const came: ModelRow[] = [];
  let failure: unknown = null;
  try {
    for await (const row of readAll({ path: '/list', ask, sizes: [limit], maxPages: MAX_PAGES })) came.push(row);
  } catch (error) {
    failure = error;
  }
  return { came, failure, requests: list.requests() };
}

const style: fc.Arbitrary<Style> = fc.record({
  meta: fc.constantFrom('full', 'records', 'none'),
  limit: fc.constantFrom('honoured', 'clamped', 'ignored'),
  pageSize: fc.oneof(fc.integer({ min: 3, max: 40 }), fc.constantFrom(20, 50)),
  page: fc.constantFrom('turned', 'ignored', 'capped', 'whole'),
  pastEnd: fc.constantFrom('empty', 'last page', 'first page', 'wraps'),
  shuffles: fc.constant(false),
});
const rows = fc
  .tuple(fc.oneof(fc.integer({ min: 0, max: 130 }), fc.constantFrom(20, 40, 50, 100)), fc.boolean())
  .map(([count, isBare]) =>
    Array.from({ length: count }, (_, index): ModelRow => (isBare ? { content: `row ${index}` } : { id: index })),
  );

test('each row is returned once, or the list fails because it may lack rows, whatever its paging', async () => {
  await fc.assert(
    fc.asyncProperty(rows, style, fc.constantFrom(7, 20, 50, 1000), async (list, paging, limit) => {
      const { came, failure, requests } = await gather(list, paging, limit);
      const length = pageLength(paging, limit, list.length);
      const isCapped = (paging.page === 'capped' || paging.page === 'ignored') && list.length > length;
      const looksCut = length === limit || COMMON_CAPS.includes(length);
      expect(new Set(came).size).toBe(came.length);
      if (isCapped) {
        expect(came).toEqual(list.slice(0, length));
        // A list cut off at a length that no source is known to stop at cannot be told from a whole one.
        if (looksCut) expect(failure).toMatchObject({ kind: 'failed' });
      } else expect(came).toEqual(list);
      expect(requests).toBeLessThanOrEqual(Math.ceil(list.length / length) + 2);
    }),
    { numRuns: 1000 },
  );
});

test('a list that returns fewer rows than its count returns them and then fails', async () => {
  const ask = async (page: number) => ({
    rows: page === 1 ? [{ id: 1 }, { id: 2 }] : [],
    meta: { totalPages: 2, totalRecords: 4 },
  });
  const came: object[] = [];
  const reading = async () => {
    for await (const row of readAll({ path: '/list', ask, sizes: [2], maxPages: MAX_PAGES })) came.push(row);
  };
  await expect(reading()).rejects.toMatchObject({
    kind: 'failed',
    message: '/list: page 2 is empty, though the source counts more rows, so rows may be missing.',
  });
  expect(came).toHaveLength(2);
});
