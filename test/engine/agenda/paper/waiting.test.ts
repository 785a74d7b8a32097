import { expect, test } from 'vitest';
import customers from '../../../../jobs/customers.ts';
import invoices from '../../../../jobs/invoices.ts';
import { HOUR } from '../../../../src/clock.ts';
import { partition } from '../../../../src/engine/coverage/list.ts';
import type { Entry } from '../../../../src/engine/slices/coverage-entry.ts';
import { sliceText } from '../../../../src/engine/slices/slice.ts';
import { seeded } from '../seeded.ts';
import {
  type Asked,
  longestWait,
  type PaperList,
  type PaperPart,
  paperList,
  put,
  run,
  START,
  stampOf,
  sweepHours,
} from './paper-source.ts';

const TRAITS = { order: 'id-desc' };

/** Thirty parts whose rows change now and then, some of them ten times as often as others. */
const someParts = (requests = 1): PaperPart[] =>
  Array.from({ length: 30 }, (_, index) => ({ rate: 0.02 * (1 + (index % 10)), requests }));

const missingRow = (key: string, at: number) => ({ key, slice: 'id ..', since: stampOf(at), value: null });

/** The least score at which a question is asked: what a request is worth, a little above what was asked lately. */
const priceOf = (asked: readonly Asked[]) => Math.max(...asked.map(({ question }) => question.score));

/** Hours until a row that goes missing after 400 questions is asked for, and the price of a request then. */
function confirmAt(requestsAnHour: number) {
  const list = paperList(customers, someParts(), TRAITS);
  let since = 0;
  const asked = run([list], {
    requestsAnHour,
    questions: 800,
    random: seeded(7),
    onAsked: ({ at }) => {
      if (since > 0 || at < START + (400 * HOUR) / requestsAnHour) return;
      since = at;
      list.facts = { ...list.facts, missing: [missingRow('7', at)] };
    },
  });
  const first = asked.find(({ question }) => typeof question.choice.asks === 'object') as Asked;
  const before = asked.filter(each => each.at < since).slice(-30);
  return { hours: (first.at - since) / HOUR, price: priceOf(before) };
}

test('a row that went missing is asked for within half the price of a request, in hours, so later where requests are scarce', () => {
  const waits = [20, 60, 180].map(requestsAnHour => ({ requestsAnHour, ...confirmAt(requestsAnHour) }));
  for (const { hours, price, requestsAnHour } of waits)
    expect(hours).toBeLessThanOrEqual((1.1 * price) / 2 + 2 / requestsAnHour);
  const [scarce, some, many] = waits.map(({ hours }) => hours) as [number, number, number];
  expect(scarce).toBeGreaterThan(2 * some);
  expect(some).toBeGreaterThan(2 * many);
});

test.each([1, 4])('a slice that is due is read within half the price of its %i requests', requests => {
  const list = paperList(customers, someParts(requests), TRAITS);
  let [since, text] = [0, ''];
  const asked = run([list], {
    requestsAnHour: 60,
    questions: 600,
    random: seeded(3),
    onAsked: ({ at }) => {
      if (since > 0 || at < START + 300 * requests * (HOUR / 60)) return;
      // The one that was read last has the longest way to go.
      const last = partition(list.facts.list).reduce((a, b) => ((a.provenAt ?? 0) > (b.provenAt ?? 0) ? a : b));
      [since, text] = [at, sliceText(last.slice)];
      put(list, { ...(last as Entry), dueSince: at + 1, dueReason: 'a row left it' });
    },
  });
  const next = asked.find(({ at, question }) => at > since && sliceText(question.choice.slice) === text) as Asked;
  const price = priceOf(asked.filter(({ at }) => at < since).slice(-30));
  expect((next.at - since) / HOUR).toBeLessThanOrEqual((1.1 * price * requests) / 2 + (2 * requests) / 60);
});

/** Which share of the requests of a week was spent on a question. */
function shareOf(asked: readonly Asked[], is: (each: Asked) => boolean): number {
  const requests = (each: readonly Asked[]) => each.reduce((sum, { question }) => sum + question.requests, 0);
  return requests(asked.filter(is)) / requests(asked);
}

const asksForRow = ({ question }: Asked) => typeof question.choice.asks === 'object';

function neverConfirmed(rows: number): { asked: Asked[]; list: PaperList } {
  const list = paperList(customers, someParts(), TRAITS);
  const missing = Array.from({ length: rows }, (_, index) => missingRow(String(index + 1), START));
  list.facts = { ...list.facts, missing };
  return { asked: run([list], { requestsAnHour: 60, questions: 1500, random: seeded(5) }), list };
}

test('a missing row whose answer never settles it is asked for less and less, and keeps no other question away', () => {
  const { asked, list } = neverConfirmed(1);
  expect(asked.filter(asksForRow).length).toBeGreaterThan(5);
  // A tick every 15 minutes, one request a minute.
  expect(shareOf(asked, asksForRow)).toBeLessThanOrEqual(1 / 15 + 0.01);
  expect(
    longestWait(
      [list],
      asked.filter(each => !asksForRow(each)),
    ),
  ).toBeLessThan(5 * sweepHours([list], 60));
});

test('slices of one list whose readings never add up leave other lists what they need', () => {
  const wrong = paperList(invoices, someParts().slice(0, 3), {});
  const unsettled = new Set([...wrong.rates.keys()]);
  const lists = [{ ...wrong, unsettled }, paperList(customers, someParts(), TRAITS)];
  const asked = run(lists, { requestsAnHour: 60, questions: 1500, random: seeded(6) });
  const isWrong = ({ question }: Asked) => unsettled.has(sliceText(question.choice.slice));
  // Three readings of each before it is given up until the next tick.
  expect(shareOf(asked, isWrong)).toBeLessThanOrEqual(9 / 15 + 0.02);
  const others = lists.slice(1);
  expect(
    longestWait(
      others,
      asked.filter(({ list }) => list === others[0]),
    ),
  ).toBeLessThan(15 * sweepHours(others, 60));
});

test('missing rows whose answers never settle them leave other questions half of the requests', () => {
  const { asked } = neverConfirmed(15);
  expect(shareOf(asked, asksForRow)).toBeLessThanOrEqual(0.5);
});

test('slices whose readings never add up leave other lists half of the requests', () => {
  const wrong = paperList(invoices, someParts().slice(0, 5), {});
  const unsettled = new Set([...wrong.rates.keys()]);
  const lists = [{ ...wrong, unsettled }, paperList(customers, someParts(), TRAITS)];
  const asked = run(lists, { requestsAnHour: 60, questions: 300, random: seeded(6) });
  expect(shareOf(asked, ({ list }) => list === lists[1])).toBeGreaterThanOrEqual(0.5);
});
