import { describe, expect, test } from 'vitest';
import { KINDS, LISTS, START_MS, STREAM } from '../../../bench/freshness/parameters.ts';
import { applyChange, fillSource, MARK, MARKED } from '../../../bench/freshness/product/source-rows.ts';
import { createStream } from '../../../bench/freshness/stream/stream.ts';
import { dateOf } from '../../../sandbox/data/calendar.ts';
import { createData } from '../../../sandbox/data/data.ts';
import { DAY } from '../../../src/clock.ts';

const NO_ROWS = {
  counts: { customers: 0, invoices: 0, transactions: 0 },
  moreStates: false,
  undated: false,
  beyondDouble: false,
  farDates: false,
};
describe('the source of the product', () => {
  const tiny = { customers: 60, invoices: 600, transactions: 1200 };

  test('holds the rows of the stream after every change', () => {
    const stream = createStream({ counts: tiny, seed: 7, parameters: { ...STREAM, times: 20 }, startMs: START_MS });
    const data = createData({ ...NO_ROWS, seed: 1, today: '2026-01-05' });
    fillSource(data, stream);
    const changes = stream.advanceTo(START_MS + 20 * DAY);
    for (const each of changes) applyChange(data, each);
    expect(new Set(changes.map(({ kind }) => kind)).size).toBe(KINDS.length);
    for (const list of LISTS) {
      const rows = stream.rows[list];
      expect(data[list].size).toBe(rows.size);
      for (const row of data[list].rows()) {
        expect(rows.has(row.id)).toBe(true);
        if ('date' in row) expect(row.date).toBe(dateOf(rows.dayOf(row.id)));
        if ('status' in row) expect(row.status).toBe(stream.open.has(row.id) ? 'Unpaid' : 'Paid');
        const mark = (row as unknown as Record<string, unknown>)[MARKED[list]];
        const version = stream.versionOf(list, row.id);
        expect(mark).toBe(version === 0 ? null : `${MARK}${version}`);
      }
    }
  });
});
