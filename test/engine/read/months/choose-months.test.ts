import { expect, test } from 'vitest';
import { type MonthFacts, monthsToRead, type SummedRows } from '../../../../src/engine/read/months/choose-months.ts';

const STORED = ['2026-03', '2026-02', '2026-01', '2025-12', '2025-11'];
const ASKED = 1000;
const rowsIn = (month: string, rows = 5, changedAt = ASKED - 1): SummedRows => ({
  from: month,
  to: month,
  rows,
  changedAt,
});

/** The months that are read: all were asked for at the same time, when five rows lay in each stored one. */
function read(summed: readonly SummedRows[], given: Partial<MonthFacts> = {}): string[] {
  const asked = new Map(STORED.map(month => [month, { readAt: ASKED, rows: 5 }]));
  const others = STORED.filter(month => !summed.some(({ from }) => from === month)).map(month => rowsIn(month));
  const facts = { at: 2000, keys: new Set(STORED), asked, summed: [...summed, ...others], hold: true, ...given };
  return monthsToRead('2026-03-15', facts, month => facts.keys.has(month));
}

test('months whose rows have changed, come or gone are read again, newest first', () => {
  expect(read([])).toEqual([]);
  expect(read([rowsIn('2026-01', 5, ASKED + 1)])).toEqual(['2026-01']);
  expect(read([rowsIn('2025-11', 6), rowsIn('2026-01', 4)])).toEqual(['2026-01', '2025-11']);
  expect(read([rowsIn('2025-12', 0)])).toEqual(['2025-12']);
});

test('a change in the very moment of the last reading counts', () => {
  expect(read([rowsIn('2026-01', 5, ASKED)])).toEqual(['2026-01']);
});

test('a month that was stored before it was noted when is read', () => {
  expect(read([], { asked: new Map() })).toEqual(STORED);
});

test('a row that may lie in several months has changed all of them', () => {
  const asked = new Map(STORED.map(month => [month, { readAt: ASKED, rows: 6 }]));
  const rows = STORED.map(month => rowsIn(month));
  const window = { from: '2025-12', to: '2026-01', rows: 1, changedAt: ASKED + 1 };
  const elsewhere = [rowsIn('2026-03', 1), rowsIn('2026-02', 1), rowsIn('2025-11', 1)];
  expect(read([...rows, ...elsewhere, window], { asked })).toEqual(['2026-01', '2025-12']);
});

test('a change before the oldest month reads the months without a row in between as well', () => {
  expect(read([rowsIn('2025-09', 1)])).toEqual(['2025-10', '2025-09']);
});

test('months that a reading of all months does not reach are left out, and so is the future', () => {
  expect(read([rowsIn('2024-10')])).toEqual([]);
  expect(read([rowsIn('0201-05'), rowsIn('2026-04'), rowsIn('9999-12')])).toEqual([]);
  expect(read([rowsIn('2024-11')])).toHaveLength(12);
});

test('while all months are due, none is read for its rows', () => {
  expect(read([rowsIn('2025-12', 0)], { hold: false })).toEqual([]);
});
