import { expect, test } from 'vitest';
import { DAY, MINUTE } from '../../../src/clock.ts';
import { shownThoughLacked } from '../../../src/engine/profile/shown-though-lacked.ts';

const LAG_MS = MINUTE;

/** What is remembered after each of these showings, every quarter of an hour; each row had been lacked a minute before. */
function show(turns: readonly (readonly string[])[], everyMs = 15 * MINUTE): boolean[] {
  let last: string | null = null;
  return turns.map((keys, turn) => {
    const at = Date.UTC(2026, 0, 15) + turn * everyMs;
    const shown = shownThoughLacked(
      last,
      keys.map(key => ({ key, lackedAt: at - MINUTE, at })),
      LAG_MS,
    );
    last = shown?.value ?? last;
    return shown?.again ?? false;
  });
}

test('a row that is lacked and shown once more is found out, also where others take turns with it', () => {
  expect(show([['1'], ['1']])).toEqual([false, true]);
  expect(show([['1'], ['2'], ['1']])).toEqual([false, false, true]);
  expect(show([['1'], ['2'], ['2', '1']])).toEqual([false, false, true]);
});

test('an answer that is repeated, or a row that was not lacked since, tells nothing', () => {
  expect(show([['1'], ['1'], ['1']], MINUTE / 4)).toEqual([false, false, false]);
  const [at, later] = [Date.UTC(2026, 0, 15), Date.UTC(2026, 0, 16)];
  const first = shownThoughLacked(null, [{ key: '1', lackedAt: at - 1, at }], LAG_MS);
  expect(shownThoughLacked(first?.value ?? null, [{ key: '1', lackedAt: at - 1, at: later }], LAG_MS)).toBeNull();
});

test('a row that is not shown again for a day makes room for another', () => {
  expect(show([['1'], ['2'], ['2']], DAY)).toEqual([false, false, true]);
});
