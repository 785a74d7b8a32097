import { expect, test } from 'vitest';
import { countPages, readMeta } from '../../../src/source/paging/page-count.ts';
import { readPage, startReading } from '../../../src/source/paging/stable-reading.ts';

test('pages are counted only where rows are', () => {
  const counted = readMeta({ current_page: 1, total_pages: 13, total_records: '1234' });
  expect([counted?.totalRecords, countPages(counted, 100)]).toEqual([1234, 13]);
  for (const records of ['1,234', '1.234', '', null, undefined]) {
    const meta = readMeta({ current_page: 1, total_pages: 13, total_records: records });
    expect([meta, countPages(meta, 100)]).toEqual([{ currentPage: 1 }, null]);
  }
});

test('a row that slips past the last of the counted pages is noticed although no count of rows can be read', () => {
  const meta = readMeta({ current_page: 1, total_pages: 2, total_records: '1,234' });
  const context = {
    isSingleBody: false,
    looksCut: false,
    fullPage: 3,
    mayLackIds: false,
    canCut: false,
    isIdOrdered: false,
    cutsIfCountDiffers: false,
    mostBelieved: null,
  };
  const rules = { count: 'first', maxPages: 60, maxPagesOfSlice: 10, limit: 3 } as const;
  const page = (number: number, keys: string[]) => ({
    page: number,
    keys,
    rows: keys.length,
    limit: 3,
    grantedAt: '2026-01-01 00:00:00+00',
    meta,
  });
  // Row 4 was on page 2 while page 1 was read, and on page 1 while page 2 was.
  let reading = startReading(rules);
  for (const [index, keys] of [['1', '2', '3'], ['5', '3'], []].entries()) {
    const read = readPage(reading, page(index + 1, keys), context);
    expect(read.outcome).toBeNull();
    reading = read.reading;
  }
  expect(reading.pager.pass).toBe(2);
});
