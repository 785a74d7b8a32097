import { describe, expect, test } from 'vitest';
import invoices from '../../../jobs/invoices.ts';
import products from '../../../jobs/products.ts';
import { hiddenRows, mayHideRows, settlesDoubt } from '../../../src/engine/coverage/hidden-rows.ts';
import type { List } from '../../../src/engine/coverage/list.ts';
import { EMPTY } from '../../../src/engine/coverage/prove.ts';
import type { ListEnd } from '../../../src/engine/profile/list-end.ts';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../../src/engine/profile/strategy.ts';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';
import { wholeTime } from '../../../src/engine/slices/date-windows.ts';
import { parseSlice, sliceText } from '../../../src/engine/slices/slice.ts';

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

test('what all windows lack is counted again, also by a task that has no count from before; only a count from before them tells of hidden rows', () => {
  const held = { rows: 90, quarantined: 0, lackedByCover: 0, missing: 0 };
  const list = listWith();
  const asked = { countJudged: false, windowsHoldAllAt: null, since: 0 };
  const after = (counted: { rows: number; at: number } | null, countAsked: boolean, lackedByCover = 0) =>
    hiddenRows(list, { ...asked, counted, countAsked }, { ...held, lackedByCover });
  expect([after(null, false), after(null, false, 1), after(null, true, 1)]).toEqual(['none', 'ask again', 'none']);
  expect(after({ rows: 100, at: 1 }, true)).toMatchObject([{ trait: 'undated' }]);
  // What the windows are counted with lies in one of them.
  const counted = { counted: { rows: 100, at: 1 }, countAsked: true };
  const judged = { ...asked, ...counted, windowsHoldAllAt: 2 };
  expect(hiddenRows(list, judged, held)).toBe('none');
  // It seems to be empty, and is read again once.
  const [read] = [...list.entries.values()] as [Entry];
  const empty = { ...list, entries: new Map([[sliceText(wholeTime), { ...read, dueReason: EMPTY }]]) };
  expect(hiddenRows(empty, { ...judged, windowsHoldAllAt: 1 }, held)).toBe('none');
  expect(hiddenRows(empty, judged, held)).toMatchObject({
    due: [{ slice: wholeTime, dueReason: expect.stringContaining('counts 100 rows') }],
  });
  // The only window was read at 1.
  expect(after({ rows: 100, at: 2 }, true)).toBe('none');
});

describe('a list in the order of ids that counts more rows than its pages showed', () => {
  const end = { verdict: 'agreed', rows: 100, longest: 100, suspect: null, last: '1', times: 1 } as const;
  const [whole] = [...listWith().entries.values()] as [Entry];
  /** Counted with 100 rows. */
  const listById = (counts: string, given: Partial<Entry> = {}, known: Partial<ListEnd> | null = {}): List => {
    const profile = profileOf([
      { trait: 'order', value: 'id-desc' },
      { trait: 'counts', value: counts },
      ...(known === null ? [] : [{ trait: 'end', value: JSON.stringify({ ...end, ...known }) }]),
    ]);
    const parts = ['id 50..', 'id ..49'].map(slice => ({ ...whole, slice: parseSlice(slice), rows: 45, ...given }));
    const entries = new Map(parts.map(part => [sliceText(part.slice), part]));
    return { ...listWith(), job: products, profile, strategy: strategyFor(profile, products), entries };
  };
  const TASK = { counted: null, countAsked: true, windowsHoldAllAt: null, countJudged: false, since: 1 };
  /** Of the stored rows, 5 are missing; one record is in quarantine. */
  const judge = (list: List, stored: number, task: Partial<typeof TASK> = {}, lackedByCover = 0) =>
    hiddenRows(list, { ...TASK, ...task }, { rows: stored, quarantined: 1, lackedByCover, missing: 5 });
  const learnt = (list: List, stored: number, task: Partial<typeof TASK> = {}) => {
    const found = judge(list, stored, task);
    return typeof found === 'string' || 'due' in found ? found : found.map(({ trait, value }) => [trait, value]);
  };
  const open = ['end', expect.stringContaining('"verdict":"open"')];

  test('is counted again, and does not end there if it still does', () => {
    const list = listById('agree');
    expect([mayHideRows(list), mayHideRows({ ...list, total: 90 })]).toEqual([true, false]);
    expect([judge(list, 98, { countAsked: false }), judge(list, 104, { countAsked: false })]).toEqual([
      'ask again',
      'none',
    ]);
    for (const known of [list, listById('agree', {}, null)])
      expect(learnt(known, 98)).toEqual([open, ['counts', 'doubted once: id ..']]);
  });

  test('may count the rows that are missing, until all ranges lack them', () => {
    for (const counts of ['agree', 'doubted twice: id ..'])
      for (const stored of [99, 103]) {
        expect(judge(listById(counts), stored)).toBe('none');
        expect(judge(listById(counts), stored, {}, 5)).toHaveLength(2);
      }
    expect([
      mayHideRows({ ...listById('agree'), total: 90 }, 5),
      mayHideRows({ ...listById('agree'), total: 85 }, 5),
    ]).toEqual([true, false]);
  });

  test('is no longer believed to count what it shows once a third task has found so', () => {
    const doubted = listById('doubted once: id ..');
    expect(mayHideRows({ ...doubted, total: 90 })).toBe(true);
    expect(learnt(doubted, 98)).toEqual([open, ['counts', 'doubted twice: id ..']]);
    // It was judged before, or not all rows were read for this task.
    for (const task of [{ countJudged: true }, { since: 2 }]) expect(learnt(doubted, 98, task)).toEqual([open]);
    expect(learnt(listById('doubted twice: id ..'), 98)).toEqual([open, ['counts', 'unreliable']]);
    expect(mayHideRows(listById('unreliable'))).toBe(false);
  });

  test('is not judged by a count that is newer than the newest rows that were read', () => {
    const list = listById('doubted twice: id ..');
    const [newest, older] = [...list.entries.values()] as [Entry, Entry];
    const entries = [newest, { ...older, provenAt: 2 }].map(entry => [sliceText(entry.slice), entry] as const);
    expect(learnt({ ...list, entries: new Map(entries) }, 90)).toBe('none');
  });

  test('says nothing of a count that is wrong for one value, or with any filter', () => {
    for (const counts of ['doubted twice: value customer_id=7', 'unfiltered'])
      expect([learnt(listById(counts), 98), learnt(listById(counts), 104)]).toEqual([[open], 'none']);
  });

  test('was right about it if the count agrees again with ranges that are all proven', () => {
    const doubted = (given: Partial<Entry>, known: Partial<ListEnd>) => listById('doubted twice: id ..', given, known);
    expect(learnt(doubted({}, {}), 104)).toEqual([['counts', 'agree']]);
    expect(learnt(doubted({ dueReason: 'cut off' }, {}), 104)).toBe('none');
    const agreed = ['end', expect.stringContaining('"verdict":"agreed"')];
    expect(learnt(doubted({}, { verdict: 'open' }), 104)).toEqual([agreed, ['counts', 'agree']]);
    // A count below the rows does not agree.
    expect(learnt(doubted({}, { verdict: 'open' }), 105)).toBe('none');
    // It may be cut off.
    expect(learnt(doubted({}, { verdict: 'open', suspect: 100 }), 104)).toEqual([['counts', 'agree']]);
  });
});

test('a doubt of ranges of ids ends with the proof of all windows that a list is cut into since', () => {
  const list = listWith({ trait: 'counts', value: 'doubted once: id 5..9' });
  expect(settlesDoubt(list, wholeTime)).toBe(true);
  const [entry] = [...list.entries.values()] as [Entry];
  const entries = new Map([[sliceText(wholeTime), { ...entry, dueReason: 'cut off' }]]);
  expect(settlesDoubt({ ...list, entries }, wholeTime)).toBe(false);
});

test('a count in doubt shows nothing of windows', () => {
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

/** Invoices in two windows, the later of which came with a count that was off. */
function doubtedList(later: Partial<Entry>): List {
  const list = listWith({ trait: 'counts', value: 'doubted once: date 2025-03-01..' });
  const [whole] = [...list.entries.values()] as [Entry];
  const parts = [whole, { ...whole, ...later }].map((entry, nth) => {
    return { ...entry, slice: parseSlice(nth === 0 ? 'date ..2025-02-28' : 'date 2025-03-01..') };
  });
  return { ...list, entries: new Map(parts.map(entry => [sliceText(entry.slice), entry])) };
}

test('a doubt ends once the slice whose count was off is proven by it, and not by another slice', () => {
  const read = parseSlice('date 2025-03-01..');
  expect(settlesDoubt(doubtedList({}), read)).toBe(true);
  // A window that was cut anew.
  expect(settlesDoubt(doubtedList({}), parseSlice('date 2025-03-01..2025-03-31'))).toBe(true);
  const unproven = { dueReason: 'not proven: the source counted 8 rows and showed 7' };
  for (const later of [unproven, { provenAt: null }])
    for (const slice of ['date 2025-03-01..', 'date ..2025-02-28'])
      expect(settlesDoubt(doubtedList(later), parseSlice(slice))).toBe(false);
  for (const slice of ['id 1..9', 'status=Unpaid'])
    expect(settlesDoubt(doubtedList({}), parseSlice(slice))).toBe(false);
});
