import { HOUR } from '../../../src/clock.ts';
import { dayOf } from '../parameters.ts';
import { NEWEST, OLDEST, type Policy, type Question } from '../policy.ts';
import { keyOf } from '../stream/rows.ts';

const LOOK_BACK_DAYS = 30;
/** When all customers are read, by UTC. */
const NIGHTLY_MS = 2 * HOUR;

/**
 * What people configure in dlt or Airbyte: every hour the invoices and transactions dated in the last 30 days, merged by id; every
 * night all customers, which replace the stored ones. A merge deletes nothing, and older changes are never read.
 */
export function lookBack(): Policy {
  const waiting: Question[] = [];
  let lastHour = Number.NEGATIVE_INFINITY;
  let lastNight = Number.NEGATIVE_INFINITY;
  return {
    name: '30-day look-back',
    lacks: { customers: 1, invoices: Number.POSITIVE_INFINITY, transactions: Number.POSITIVE_INFINITY },
    next(now) {
      const hour = Math.floor(now / HOUR);
      const night = dayOf(now - NIGHTLY_MS);
      // A run that takes longer than an hour delays the next one.
      if (waiting.length === 0 && hour > lastHour) {
        lastHour = hour;
        const from = keyOf(dayOf(now) - LOOK_BACK_DAYS, 0);
        waiting.push({ list: 'invoices', from, to: NEWEST }, { list: 'transactions', from, to: NEWEST });
        if (night > lastNight) waiting.push({ list: 'customers', from: OLDEST, to: NEWEST });
        lastNight = night;
      }
      return waiting[0] ?? { untilMs: Math.floor(now / HOUR + 1) * HOUR };
    },
    receive({ question, next }) {
      waiting.shift();
      if (next !== null) waiting.unshift({ ...question, from: next });
    },
  };
}
