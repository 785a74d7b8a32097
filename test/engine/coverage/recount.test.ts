import { expect, test } from 'vitest';
import invoices from '../../../jobs/invoices.ts';
import type { List } from '../../../src/engine/coverage/list.ts';
import { mayHideRows } from '../../../src/engine/coverage/recount.ts';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../../src/engine/profile/strategy.ts';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';
import { wholeTime } from '../../../src/engine/slices/date-windows.ts';
import { sliceText } from '../../../src/engine/slices/slice.ts';

/** Invoices in one window that was read. */
function listWith(...traits: readonly { trait: string; value: string }[]): List {
  const profile = profileOf(traits);
  const history = { changed: 0, hoursWatched: 1, dueSince: null, dueReason: null };
  const entry: Entry = { slice: wholeTime, provenAt: 1, readAt: 1, requests: 1, rows: 90, ...history };
  const entries = new Map([[sliceText(wholeTime), entry]]);
  return { job: invoices, profile, strategy: strategyFor(profile, invoices), entries, total: 100 };
}

test('a count that is believed may show that rows lie in no window', () => {
  expect(mayHideRows(listWith())).toBe(true);
  expect(mayHideRows(listWith({ trait: 'counts', value: 'unfiltered' }))).toBe(true);
});

test('a count in doubt shows nothing', () => {
  for (const value of ['doubted once', 'doubted twice', 'unreliable'])
    expect(mayHideRows(listWith({ trait: 'counts', value }))).toBe(false);
});

test('what is known already is not found out again, even where the list is still cut by date', () => {
  const cutShort = [
    { trait: 'undated', value: 'yes' },
    { trait: 'paging', value: 'ignored' },
    { trait: 'one answer', value: 'cut' },
  ];
  expect(listWith(...cutShort).strategy.partition).toBe('date');
  expect(mayHideRows(listWith(...cutShort))).toBe(false);
});
