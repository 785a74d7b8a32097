import { expect, test } from 'vitest';
import { doubtfulEdges } from '../../../src/engine/profile/observe-edges.ts';

const window = { by: 'date', from: '2025-03-01', to: '2025-03-09' } as const;
const BOTH = ['date from', 'date to'] as const;

/** Edges in doubt where the window lacked a row of the day and showed others of these days. */
const doubts = (lacked: string, shown: readonly string[]) =>
  doubtfulEdges(window, BOTH, { lacked: [lacked], shown }).map(({ trait, value }) => `${trait} ${value}`);

test('an edge whose day was not shown at all is in doubt', () => {
  expect(doubts('2025-03-01', ['2025-03-02'])).toEqual(['date from in doubt']);
  expect(doubts('2025-03-09', ['2025-03-02'])).toEqual(['date to in doubt']);
});

test('of the last day, some rows may be shown: those without a time of day', () => {
  expect(doubts('2025-03-09', ['2025-03-09'])).toEqual(['date to in doubt']);
  expect(doubts('2025-03-01', ['2025-03-01'])).toEqual([]);
});

test('a row of another day, or an edge that was asked for with a day more, says nothing', () => {
  expect(doubts('2025-03-05', ['2025-03-01', '2025-03-09'])).toEqual([]);
  expect(doubtfulEdges(window, [], { lacked: ['2025-03-09'], shown: [] })).toEqual([]);
});
