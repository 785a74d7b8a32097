import { expect, test } from 'vitest';
import { observePage } from '../../../src/engine/profile/observe-page.ts';
import { UNKNOWN } from '../../../src/engine/profile/source-profile.ts';

const page = (given: { limit: number; rows: number; totalRecords: number; totalPages: number }) => ({
  page: 1,
  limit: given.limit,
  rows: Array.from({ length: given.rows }, (_, index) => ({ id: index + 1 })),
  meta: { currentPage: 1, totalPages: given.totalPages, totalRecords: given.totalRecords },
});
const sizes = (given: Parameters<typeof page>[0]) =>
  observePage(UNKNOWN, page(given), { keyField: 'id', mayLackIds: false, pages: given.totalPages, previous: null })
    .filter(({ trait }) => trait === 'page size')
    .map(({ value }) => value);

test('a source that counts its pages by a smaller size shows its page size', () => {
  expect(sizes({ limit: 1000, rows: 100, totalRecords: 1500, totalPages: 15 })).toEqual(['100']);
});

test('a count that promises a few rows more than there are does not make the page small', () => {
  expect(sizes({ limit: 100, rows: 95, totalRecords: 102, totalPages: 2 })).toEqual([]);
  expect(sizes({ limit: 17, rows: 11, totalRecords: 18, totalPages: 2 })).toEqual([]);
});
