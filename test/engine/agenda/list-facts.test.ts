import { expect, test } from 'vitest';
import { HOUR } from '../../../src/clock.ts';
import { expectedDelays } from '../../../src/engine/agenda/expected-delay.ts';
import {
  type AgendaList,
  type AgendaRules,
  factsOf,
  needsOf,
  shownWish,
} from '../../../src/engine/agenda/list-facts.ts';
import { partsOf } from '../../../src/engine/agenda/parts.ts';
import { questionsOf } from '../../../src/engine/agenda/questions.ts';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../../src/engine/profile/strategy.ts';
import { parseSlice, type Slice } from '../../../src/engine/slices/slice.ts';
import { JOBS, type TestResource } from '../../support/resources.ts';

const NOW = Date.parse('2026-01-15T10:00:00Z');
const RULES: AgendaRules = { limit: 100, windowMs: HOUR, timeZone: 'UTC' };

/** A list whose parts were read an hour ago, each with its requests; null: never. */
function listOf(name: TestResource, parts: Readonly<Record<string, number | null>>): AgendaList {
  const profile = profileOf([]);
  const entries = Object.entries(parts).map(([text, requests], place) => {
    const at = requests === null ? null : NOW - HOUR;
    const history = { changed: 10 * (place + 1), hoursWatched: 500, dueSince: null, dueReason: null };
    return [
      text,
      { slice: parseSlice(text), provenAt: at, readAt: at, requests: requests ?? 1, rows: 50, ...history },
    ] as const;
  });
  const job = JOBS[name];
  const strategy = strategyFor(profile, job);
  const list = { name, job, profile, strategy, entries: new Map(entries), total: undefined, reading: new Set<Slice>() };
  return { list, wish: shownWish(NOW), missing: [] };
}

const transactions = listOf('transactions', { 'date ..2025-12-31': 30, 'date 2026-01-01..': 4, newest: 1 });
const customers = listOf('customers', { 'id ..100': 1, 'id 101..': 5 });
const lists = [transactions, customers];
const factsWith = (rules: Partial<AgendaRules>) =>
  factsOf(
    { ...RULES, ...rules },
    lists,
    lists.map(({ list }) => list),
    NOW,
  );
const weightsWith = (rules: Partial<AgendaRules>) =>
  Object.fromEntries(factsWith(rules).map(({ list, weight }) => [list.name, weight]));

test('weights are 1 unless they are set, and a list with the weight 0 is asked nothing', () => {
  expect(weightsWith({})).toEqual({ transactions: 1, customers: 1 });
  expect(weightsWith({ weights: { customers: 3 } })).toEqual({ transactions: 1, customers: 3 });
  const asked = factsWith({ weights: { customers: 0 } }).flatMap(facts =>
    questionsOf(facts).map(() => facts.list.name),
  );
  expect(new Set(asked)).toEqual(new Set(['transactions']));
});

test('the bound on unread parts is so many times what it takes to read everything once', () => {
  // 40 requests at 100 an hour.
  expect(factsWith({}).map(({ mostAge }) => mostAge)).toEqual([2, 2].map(each => expect.closeTo(each, 9) as number));
  expect(factsWith({ mostSweeps: 3, windowMs: HOUR / 2 })[0]?.mostAge).toBeCloseTo(0.6, 9);
});

test('a target takes the place of the weight, and the list meets it', () => {
  const rules = { ...RULES, weights: { transactions: 7 }, targets: { transactions: 0.25 } };
  const facts = factsWith(rules);
  expect(needsOf(rules, facts)).toMatchObject([{ name: 'transactions', target: 0.25, reachable: 0.25 }]);
  const fresh = (parts: ReturnType<typeof partsOf>) => parts.map(each => ({ ...each, age: 0 }));
  const delays = expectedDelays(
    facts.map(each => ({ name: each.list.name, parts: fresh(partsOf(each)), weight: each.weight })),
    100,
    1e9,
  );
  expect(delays.get('transactions')?.mean).toBeCloseTo(0.25, 9);
  expect(weightsWith(rules).customers).toBe(1);
});

test('what is being read, was just read or failed still belongs to what a list needs', () => {
  const [facts] = factsWith({}) as [ReturnType<typeof factsWith>[number]];
  const parts = partsOf(facts);
  expect(parts).toHaveLength(3);
  const reading = new Set<Slice>([{ by: 'newest' }]);
  const state = { ...facts.wish.state, done: new Set(['date 2026-01-01..']), failure: { kind: 'fuse' } };
  const wish = { ...facts.wish, state };
  expect(partsOf({ ...facts, list: { ...facts.list, reading }, wish })).toEqual(parts);
});

test('nothing is known of a list that was not read in full', () => {
  const unread = listOf('transactions', { 'date ..2025-12-31': 30, 'date 2026-01-01..': null });
  expect(factsOf(RULES, [unread], [unread.list], NOW).map(partsOf)).toEqual([[]]);
});
