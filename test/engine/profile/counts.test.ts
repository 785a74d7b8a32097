import { expect, test } from 'vitest';
import {
  believedMeta,
  type CountedWindow,
  countAgrees,
  doubtCounts,
  observeCounts,
  promisedPages,
} from '../../../src/engine/profile/counts.ts';
import type { Observation } from '../../../src/engine/profile/observation.ts';
import { profileOf, UNKNOWN, withObservation } from '../../../src/engine/profile/source-profile.ts';

const meta = { currentPage: 1, totalPages: 3, totalRecords: 250 };
const window = (from: string | null, to: string | null, total: number): CountedWindow => ({
  asked: { from, to, field: 'date' },
  total,
});
const all = window(null, null, 250);
const first = window('2024-12-31', '2026-01-01', 250);

test('a count that ignores filters is believed only of the whole list, an unreliable one never', () => {
  const believed = (counts: typeof UNKNOWN.counts) =>
    [true, false].map(isFiltered => believedMeta({ ...UNKNOWN, counts }, meta, { isFiltered }));
  expect(believed(null)).toEqual([meta, meta]);
  expect(believed('doubted twice')).toEqual([meta, meta]);
  expect(believed('unfiltered')).toEqual([undefined, meta]);
  expect(believed('unreliable')).toEqual([undefined, undefined]);
  expect(believedMeta(UNKNOWN, { currentPage: 2 }, { isFiltered: false })).toBeUndefined();
});

test('windows without a common day that hold more than one around both show that the count ignores the filter', () => {
  const next = window('2026-12-31', '2027-12-31', 250);
  expect(observeCounts(UNKNOWN, [all, first], next)).toMatchObject([{ trait: 'counts', value: 'unfiltered' }]);
  // The same days were asked for twice, since windows are asked for a day wider.
  expect(observeCounts(UNKNOWN, [all, first], window('2026-01-01', '2027-01-01', 250))).toEqual([]);
  // A few rows were added between the answers.
  expect(observeCounts(UNKNOWN, [all, window('2024-12-31', '2026-01-01', 200)], { ...next, total: 60 })).toEqual([]);
  // One window has grown since the one around it was counted.
  expect(
    observeCounts(
      UNKNOWN,
      [
        { ...all, total: 48 },
        { ...next, total: 0 },
      ],
      window('2024-12-31', '2026-01-01', 72),
    ),
  ).toEqual([]);
  // Nothing is known around them.
  expect(observeCounts(UNKNOWN, [first], next)).toEqual([]);
  // So few rows may all be new.
  const few = window(null, null, 12);
  expect(observeCounts(UNKNOWN, [few, { ...first, total: 12 }], { ...next, total: 12 })).toEqual([]);
});

test('a window that was asked for by one date says nothing of the count where the source needs both', () => {
  // The newest rows came first and lay within the window, though the filter was not applied.
  const windows = [all, window('2026-01-31', null, 250)];
  const closed = window('1902-01-01', '2026-01-01', 240);
  expect(observeCounts(UNKNOWN, windows, closed)).toMatchObject([{ trait: 'counts', value: 'unfiltered' }]);
  expect(observeCounts({ ...UNKNOWN, needsBothDates: true }, windows, closed)).toEqual([]);
});

test('a count that ignores filters, and is wrong for the whole list, too, is not believed any more', () => {
  const doubt = doubtCounts({ ...UNKNOWN, counts: 'unfiltered' }, 'id ..0', 342) as Observation;
  expect(doubt.value).toBe('unfiltered, unreliable');
  const profile = withObservation(UNKNOWN, doubt);
  const meta = { totalPages: 7, totalRecords: 700 };
  expect(believedMeta(profile, meta, { isFiltered: false })).toBeUndefined();
  // The pages of a window are none of those that it promises.
  const promised = [true, false].map(isFiltered => promisedPages(profile, meta, { isFiltered }));
  expect(promised).toEqual([undefined, 7]);
});

test('the third task that finds the same difference believes the rows', () => {
  let profile = UNKNOWN;
  const values: unknown[] = [];
  for (let doubt = doubtCounts(profile, 'whole', 7); doubt; doubt = doubtCounts(profile, 'whole', 7)) {
    values.push(doubt.value);
    profile = withObservation(profile, doubt);
  }
  expect(values).toEqual(['doubted once: whole', 'doubted twice: whole', 'unreliable']);
});

test('a count that agrees with the rows of its slice again is believed as before', () => {
  const doubted = withObservation(UNKNOWN, doubtCounts(UNKNOWN, 'date ..2025-03-31', 1) as Observation);
  expect(doubted).toMatchObject({ counts: 'doubted once', doubtedCount: 'date ..2025-03-31' });
  expect(withObservation(doubted, countAgrees('date ..2025-03-31'))).toEqual(UNKNOWN);
  // As an earlier version stored it.
  expect(profileOf([{ trait: 'counts', value: 'doubted twice' }])).toMatchObject({
    counts: 'doubted twice',
    doubtedCount: null,
  });
});
