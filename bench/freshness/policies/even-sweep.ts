import { HOUR } from '../../../src/clock.ts';
import { LISTS } from '../parameters.ts';
import { NEWEST, OLDEST, type Policy } from '../policy.ts';

/** Reads all pages of all lists, one list after the other, at an even pace and without end. */
export function evenSweep(requestsPerHour: number): Policy {
  const paceMs = HOUR / requestsPerHour;
  let turn = 0;
  let from = OLDEST;
  let nextMs = Number.NEGATIVE_INFINITY;
  return {
    name: 'even sweep',
    lacks: { customers: 2, invoices: 2, transactions: 2 },
    next(now) {
      if (now < nextMs) return { untilMs: nextMs };
      nextMs = Math.max(nextMs, now - paceMs) + paceMs;
      return { list: LISTS[turn % LISTS.length] as (typeof LISTS)[number], from, to: NEWEST };
    },
    receive({ next }) {
      if (next === null) turn++;
      from = next ?? OLDEST;
    },
  };
}
