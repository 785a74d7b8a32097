import { expect, test } from 'vitest';
import { observePage } from '../../../src/engine/profile/observe-page.ts';
import { type SourceProfile, UNKNOWN } from '../../../src/engine/profile/source-profile.ts';

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

test('a page that lost rows does not make pages smaller than any source keeps to', () => {
  const second = { ...page({ limit: 19, rows: 9, totalRecords: 0, totalPages: 0 }), page: 2, meta: undefined };
  const third = { ...second, page: 3, rows: second.rows.map(({ id }) => ({ id: id + 100 })) };
  const learnt = (pageSize: number | null) =>
    observePage({ ...UNKNOWN, paging: 'until empty', pageSize }, third, {
      keyField: 'id',
      mayLackIds: false,
      pages: null,
      previous: second,
    });
  expect(learnt(20)).toEqual([]);
  expect(learnt(null)).toMatchObject([{ trait: 'page size', value: '9' }]);
});

test('a row that comes twice makes no page longer', () => {
  const known: SourceProfile = { ...UNKNOWN, pageSize: 20 };
  const full = page({ limit: 20, rows: 20, totalRecords: 111, totalPages: 6 });
  const twice = { ...full, rows: [...full.rows, full.rows.at(-1)] };
  const traits = (profile: SourceProfile, number: number) =>
    observePage(profile, { ...twice, page: number }, { keyField: 'id', mayLackIds: false, pages: 6, previous: full });
  expect(traits(known, 1)).toEqual([]);
  expect(traits(known, 2)).toEqual([]);
  expect(traits(UNKNOWN, 1)).toMatchObject([{ trait: 'page size', value: '20' }]);
});

test('rows that are equal and have no id do not make a page smaller', () => {
  const full = page({ limit: 100, rows: 40, totalRecords: 111, totalPages: 3 });
  const rows = full.rows.map(() => ({ total: '1.00' }));
  const observed = observePage(
    UNKNOWN,
    { ...full, rows },
    { keyField: 'id', mayLackIds: false, pages: 3, previous: null },
  );
  expect(observed).toMatchObject([{ trait: 'page size', value: '40' }]);
});

test('a refusal limits later pages, unless longer ones were shown before', () => {
  const refused = { ...page({ limit: 50, rows: 50, totalRecords: 111, totalPages: 3 }), refused: 'more' as const };
  const accepted = (pageSize: number | null) =>
    observePage({ ...UNKNOWN, pageSize }, refused, { keyField: 'id', mayLackIds: false, pages: 3, previous: null })
      .filter(({ trait }) => trait === 'most accepted')
      .map(({ value }) => value);
  expect([accepted(null), accepted(20), accepted(100)]).toEqual([['50'], ['50'], []]);
});
