import { expect, test } from 'vitest';
import transactions from '../../../jobs/transactions.ts';
import {
  type Choice,
  isChoice,
  isPause,
  type ListInUse,
  NO_PROGRESS,
  type Wish,
} from '../../../src/engine/agenda/choice.ts';
import { MOST_COVERS } from '../../../src/engine/agenda/confirm.ts';
import { plan } from '../../../src/engine/agenda/plan.ts';
import { questionsOf } from '../../../src/engine/agenda/questions.ts';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../../src/engine/profile/strategy.ts';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';
import { overlap, parseSlice, sliceText } from '../../../src/engine/slices/slice.ts';
import { applyEvent } from '../../../src/engine/task/apply-event.ts';
import type { TaskState } from '../../../src/engine/task/task-state.ts';
import type { MissingRow } from '../../../src/warehouse/rows/missing-rows.ts';
import { anEntry } from './an-entry.ts';

const NOW = Date.parse('2026-01-15T10:00:00Z');
const MINUTE = 60_000;
const [OLD, MIDDLE, NEW] = ['date ..2023-12-31', 'date 2024-01-01..2024-12-31', 'date 2025-01-01..'];

/** Windows that were read so many minutes ago; most changes are in the middle one, so that its turn comes first. */
function transactionsWith(ages: Readonly<Record<string, number>>): ListInUse {
  const entries = Object.entries(ages).map(([text, age]): Entry => {
    const provenAt = NOW - age * MINUTE;
    const history = { changed: text === MIDDLE ? 500 : 0, hoursWatched: 1, dueSince: null, dueReason: null };
    return { slice: parseSlice(text), provenAt, readAt: provenAt, requests: 1, rows: 900, ...history };
  });
  const profile = profileOf([{ trait: 'page size', value: '100' }]);
  return {
    job: transactions,
    profile,
    strategy: strategyFor(profile, transactions),
    entries: new Map(entries.map(entry => [sliceText(entry.slice), entry])),
    total: undefined,
    reading: new Set(),
  };
}

/** What the task reads, window after window, while the middle one lacks a row that it lacked `ago` minutes ago. */
function readBy(list: ListInUse, ago: number, given: Partial<Wish> = {}): string[] {
  const since = new Date(NOW - ago * MINUTE).toISOString().replace('Z', '+00');
  const missing = [{ key: '7', slice: MIDDLE, since, value: null }];
  const entries = new Map(list.entries);
  const read: string[] = [];
  let { state } = BACKFILL;
  for (;;) {
    const facts = { missing, now: NOW, today: '2026-01-15' };
    const next = plan({ list: { ...list, entries }, wish: { ...BACKFILL, ...given, state }, ...facts });
    if (typeof next === 'string' || isPause(next)) return read;
    const text = sliceText(next.slice);
    if (next.asks === 'cover') state = { ...state, coverAsked: new Set([...state.coverAsked, text]) };
    read.push(text);
    const at = NOW + read.length;
    entries.set(text, { ...(entries.get(text) as Entry), provenAt: at, readAt: at });
  }
}

const BACKFILL: Wish = {
  kind: 'backfill',
  since: NOW - 30 * MINUTE,
  from: null,
  to: null,
  reportOnly: false,
  state: { ...NO_PROGRESS, readsAll: true },
};

test('a window that lacked a row is read again last, because the others may show the row', () => {
  const read = readBy(transactionsWith({ [OLD]: 27, [MIDDLE]: 25, [NEW]: 26 }), 25);
  expect([read.slice(0, 2).sort(), read[2]]).toEqual([[OLD, NEW], MIDDLE]);
});

/** What a backfill reads of a source that loses one more row of the middle window with each answer, and the covers it reads for that. */
function readWhileRowsVanish(list: ListInUse): { read: string[]; covers: readonly number[] } {
  const entries = new Map(list.entries);
  const missing: MissingRow[] = [];
  const read: string[] = [];
  let { state } = BACKFILL;
  for (let now = NOW; ; now += MINUTE) {
    const facts = { missing, now, today: '2026-01-15' };
    const next = plan({ list: { ...list, entries }, wish: { ...BACKFILL, state }, ...facts });
    if (!isChoice(next)) return { read, covers: state.covers };
    state = applyEvent(state as TaskState, { kind: 'asked', choice: next as Choice, targets: [] });
    const text = sliceText(next.slice);
    read.push(text);
    entries.set(text, { ...(entries.get(text) as Entry), provenAt: now });
    const since = new Date(now).toISOString().replace('Z', '+00');
    if (text === MIDDLE) missing.push({ key: `${missing.length}`, slice: MIDDLE, since, value: null });
  }
}

test('a task proves its own windows first, and ends although rows vanish all the time: what is missing then waits for the next', () => {
  const { read, covers } = readWhileRowsVanish(transactionsWith({ [OLD]: 60, [MIDDLE]: 50, [NEW]: 70 }));
  expect(read.slice(0, 3).sort()).toEqual([OLD, MIDDLE, NEW]);
  expect(covers.length).toBe(MOST_COVERS);
  // The last question asks whether the cover is complete.
  expect(read.length).toBeLessThanOrEqual(3 + 3 * MOST_COVERS + 1);
});

test('what did not add up waits until the others were read as often, also while one of them is being read', () => {
  const list = transactionsWith({ [OLD]: 50, [MIDDLE]: 60, [NEW]: 40 });
  const choose = (tries: Record<string, number>, reading: readonly string[] = []) => {
    const wish = { ...BACKFILL, state: { ...BACKFILL.state, tries: new Map(Object.entries(tries)) } };
    const inUse = { ...list, total: null, reading: new Set(reading.map(parseSlice)) };
    const next = plan({ list: inUse, wish, missing: [], now: NOW, today: '2026-01-15' });
    return isChoice(next) ? sliceText(next.slice) : next;
  };
  expect(choose({})).toBe(MIDDLE);
  expect(choose({ [MIDDLE]: 1 })).not.toBe(MIDDLE);
  expect(choose({ [MIDDLE]: 1, [OLD]: 1, [NEW]: 1 })).toBe(MIDDLE);
  expect(choose({ [MIDDLE]: 2, [OLD]: 2, [NEW]: 1 }, [NEW])).toBe('blocked');
});

test('an order over part of the list does not read a window again for a missing row, because it cannot confirm the deletion', () => {
  const range = { from: '2024-01-01', to: '2024-12-31' };
  expect(readBy(transactionsWith({ [OLD]: 60, [MIDDLE]: 10, [NEW]: 70 }), 10, range)).toEqual([]);
  // Where the rest was read since, it can.
  const [first] = readBy(transactionsWith({ [OLD]: 5, [MIDDLE]: 10, [NEW]: 6 }), 10, range);
  expect(first).toBe(MIDDLE);
});

test('where the source counts, its count concludes what a complete cover lacks: one more window would only lack rows that it leaves out', () => {
  const list = transactionsWith({ [OLD]: 5, [MIDDLE]: 6, [NEW]: 7, newest: 30 });
  expect(readBy({ ...list, total: 2700 }, 20)).toEqual([]);
  expect(readBy({ ...list, total: null }, 20)[0]).toBe('newest');
});

test('every window that lacked half of its rows is read a third time, one after the other, and the others are not', () => {
  const since = new Date(NOW - 20 * MINUTE).toISOString().replace('Z', '+00');
  const halved = [MIDDLE, NEW].map((slice, index) => ({ key: `${index}`, slice, since, value: null, half: true }));
  const list = transactionsWith({ [OLD]: 10, [MIDDLE]: 9, [NEW]: 8 });
  let missing: MissingRow[] = halved.map(row => ({ ...row, readings: 2 }));
  let { state } = BACKFILL;
  const read: string[] = [];
  for (;;) {
    const facts = { missing, now: NOW, today: '2026-01-15' };
    const next = plan({ list, wish: { ...BACKFILL, state }, ...facts });
    if (typeof next === 'string' || isPause(next)) break;
    const text = sliceText(next.slice);
    read.push(text);
    state = { ...state, coverAsked: new Set([...state.coverAsked, text]) };
    missing = missing.map(row => (row.slice === text ? { ...row, readings: 3 } : row));
  }
  expect(read.sort()).toEqual([MIDDLE, NEW]);
});

/** A list without counts of which a day may have been cut off: it has as many rows as the longest reading. */
function listOfDay(others: Readonly<Record<string, number>>): ListInUse {
  const rows = { ...others, 'date 2025-03-03..2025-03-03': 60 };
  const entries = Object.entries(rows).map(([text, count]) => {
    const provenAt = text in others ? NOW - MINUTE : null;
    return [text, anEntry({ slice: parseSlice(text), provenAt, readAt: NOW - MINUTE, rows: count })] as const;
  });
  const profile = profileOf([
    { trait: 'page size', value: '100' },
    { trait: 'longest date', value: '60' },
  ]);
  return { ...transactionsWith({}), profile, entries: new Map(entries) };
}

/** What comes next, and again once that was read. */
function nextTwo(list: ListInUse): string[] {
  const facts = { list, missing: [], now: NOW, today: '2026-01-15' };
  let { state } = BACKFILL;
  return [1, 2].map(() => {
    const next = plan({ ...facts, wish: { ...BACKFILL, state } });
    if (!isChoice(next)) return String(next);
    state = { ...state, done: new Set([...state.done, sliceText(next.slice)]) };
    return `${sliceText(next.slice)}${next.asks === 'length' ? ', length' : ''}`;
  });
}

test('a day that may have been cut off is asked for together with the nearest window that has rows, and then by itself', () => {
  const empty = { 'date 2025-03-01..2025-03-02': 0, 'date 2025-03-04..': 0 };
  const day = 'date 2025-03-03..2025-03-03';
  expect(nextTwo(listOfDay({ 'date ..2024-12-31': 7, 'date 2025-01-01..2025-02-28': 1, ...empty }))).toEqual([
    'date 2025-01-01..2025-03-03, length',
    day,
  ]);
  expect(nextTwo(listOfDay({ 'date ..2025-02-28': 0, ...empty }))[0]).toBe(day);
});

test('the agenda asks for such a day in the same way', () => {
  const day = 'date 2025-03-03..2025-03-03';
  const list = listOfDay({ 'date ..2025-03-02': 7, 'date 2025-03-04..': 0 });
  const entries = new Map(list.entries).set(day, { ...(list.entries.get(day) as Entry), provenAt: NOW - 60 * MINUTE });
  const facts = { missing: [], now: NOW, today: '2026-01-15', weight: 1, mostAge: 100 };
  const questions = questionsOf({ list: { ...list, entries }, wish: { ...BACKFILL, kind: 'agenda' }, ...facts });
  const ofDay = questions.filter(({ choice }) => overlap(choice.slice, parseSlice(day)));
  expect(ofDay.map(({ choice }) => [sliceText(choice.slice), choice.asks])).toContainEqual([
    'date ..2025-03-03',
    'length',
  ]);
});

test('windows without a count are not gathered into a reading that would be as long as the longest', () => {
  const before = { provenAt: NOW - 90 * MINUTE };
  const gathered = (rows: number) => {
    const windows = ['date ..2024-12-31', 'date 2025-01-01..2025-02-28', 'date 2025-03-01..'];
    const entries = windows.map(text => [text, anEntry({ slice: parseSlice(text), ...before, rows })] as const);
    return nextTwo({ ...listOfDay({}), entries: new Map(entries) })[0];
  };
  expect(gathered(19)).toBe('date ..');
  expect(gathered(20)).not.toBe('date ..');
});

test('windows that came without a count are gathered into one page, also before the whole list was asked for its count', () => {
  const gathered = (observed: readonly { trait: string; value: string }[]) => {
    const list = transactionsWith({ [OLD]: 90, [MIDDLE]: 90, [NEW]: 90 });
    const profile = profileOf([{ trait: 'page size', value: '100' }, ...observed]);
    const entries = [...list.entries].map(([text, entry]) => [text, { ...entry, rows: 40 }] as const);
    return nextTwo({ ...list, profile, entries: new Map(entries) })[0];
  };
  const longest = { trait: 'longest date', value: '260' };
  expect(gathered([])).toBe('date ..');
  expect(gathered([longest])).not.toBe('date ..');
  expect(gathered([longest, { trait: 'order', value: 'id-desc' }])).toBe('date ..');
});

test('windows are gathered by the pages that they took, which a source may have taken rows out of', () => {
  const gathered = (requests: number) => {
    const list = transactionsWith({ [OLD]: 90, [MIDDLE]: 90, [NEW]: 90 });
    const entries = [...list.entries].map(([text, entry]) => [text, { ...entry, rows: 200, requests }] as const);
    return nextTwo({ ...list, entries: new Map(entries) })[0];
  };
  expect(gathered(2)).toBe('date ..');
  expect(gathered(6)).not.toBe('date ..');
});
