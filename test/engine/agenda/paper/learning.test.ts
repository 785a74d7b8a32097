import { expect, test } from 'vitest';
import transactions from '../../../../jobs/transactions.ts';
import { changeRate, pooledPrior } from '../../../../src/engine/agenda/change-rates.ts';
import { partition } from '../../../../src/engine/coverage/list.ts';
import { seeded } from '../seeded.ts';
import { type PaperPart, paperList, readingsOf, run } from './paper-source.ts';

const TRAITS = { 'control totals': 'other rules' };

/** How often each slice was read, the newest first, and the rate that was learnt of it. */
function learnt(parts: readonly PaperPart[], questions: number, seed: number) {
  const list = paperList(transactions, parts, TRAITS);
  const asked = run([list], { requestsAnHour: 60, questions, random: seeded(seed) });
  const { list: known, now } = list.facts;
  const prior = pooledPrior(known.entries.values(), now);
  const rates = partition(known).map(entry => changeRate(entry, prior));
  const reads = [...readingsOf([list], asked).values()].map(readAt => readAt.length);
  return { rates, reads };
}

test('a slice that changes more often is read more often, and a more expensive one less often', () => {
  const others = Array.from({ length: 10 }, () => ({ rate: 0.01, requests: 1 }));
  const rates = learnt([{ rate: 4, requests: 1 }, { rate: 0.04, requests: 1 }, ...others], 1000, 1).reads;
  expect(rates[0]).toBeGreaterThan(2 * (rates[1] as number));
  const busy = Array.from({ length: 20 }, () => ({ rate: 1, requests: 1 }));
  const costs = learnt([{ rate: 4, requests: 1 }, { rate: 4, requests: 4 }, ...busy], 1000, 2).reads;
  expect(costs[0]).toBeGreaterThan(1.5 * (costs[1] as number));
});

test('the learnt rate converges to the true rate', () => {
  const others = Array.from({ length: 6 }, () => ({ rate: 0.01, requests: 1 }));
  const { rates } = learnt([{ rate: 6, requests: 1 }, { rate: 0.5, requests: 1 }, ...others], 10_000, 3);
  expect(rates[0]).toBeGreaterThan(3);
  expect(rates[0]).toBeLessThan(9);
  expect(rates[1]).toBeGreaterThan(0.25);
  expect(rates[1]).toBeLessThan(1.5);
});
