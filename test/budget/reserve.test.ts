import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRandom } from '../../sandbox/data/random.ts';
import type { Budget } from '../../src/budget/budget.ts';
import { createLedger } from '../../src/budget/ledger/ledger.ts';
import { createMemoryBudget } from '../../src/budget/memory-budget.ts';
import { HOUR, MINUTE } from '../../src/clock.ts';
import { parseReserve, reservedOf } from '../../src/config/reserve.ts';
import { withDatabase } from '../support/database.ts';
import { manualClock } from '../support/manual-clock.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const LIMIT = 60;
const START = Date.parse('2026-01-15T05:00:00Z');

/** How a source counts requests of a key: whether it serves one at a moment, and how many are left after it. */
type Policy = () => { serve(at: number): boolean; left(at: number): number };

const POLICIES: Readonly<Record<string, Policy>> = {
  rolling: () => {
    let served: number[] = [];
    const counted = (at: number) => {
      served = served.filter(each => each > at - HOUR);
      return served.length;
    };
    return { serve: at => counted(at) < LIMIT && served.push(at) > 0, left: at => LIMIT - counted(at) };
  },
  fixed: () => {
    const served = new Map<number, number>();
    const hourOf = (at: number) => Math.floor((at + 17 * MINUTE) / HOUR);
    const counted = (at: number) => served.get(hourOf(at)) ?? 0;
    return {
      serve: at => counted(at) < LIMIT && Boolean(served.set(hourOf(at), counted(at) + 1)),
      left: at => LIMIT - counted(at),
    };
  },
  'token bucket': () => {
    let tokens = LIMIT;
    let last = START;
    const filled = (at: number) => {
      tokens = Math.min(LIMIT, tokens + ((at - last) * LIMIT) / HOUR);
      last = at;
      return tokens;
    };
    return { serve: at => filled(at) >= 1 && Boolean(tokens--), left: at => Math.floor(filled(at)) };
  },
};

/** Three programs that together send at most what is left to them in any hour, in bursts. */
function openOthers(seed: number, allowed: (at: number) => number) {
  const random = createRandom(seed);
  let sent: number[] = [];
  return (at: number): number => {
    sent = sent.filter(each => each > at - HOUR);
    let count = 0;
    for (let program = 0; program < 3; program++)
      if (random.chance(0.15))
        for (let burst = random.int(1, 6); burst > 0 && sent.length < allowed(at); burst--) {
          sent.push(at);
          count++;
        }
    return count;
  };
}

/** Both send minute by minute, Sluice whatever it is granted. Returns how many each was refused, and how many Sluice sent. */
async function play(
  budget: Budget,
  policy: Policy,
  others: (at: number) => number,
  { hours, advance, now }: { hours: number; advance: (ms: number) => unknown; now: () => number },
) {
  const server = policy();
  const refused = { sluice: 0, others: 0 };
  let sent = 0;
  for (let minute = 0; minute < hours * 60; minute++) {
    for (let burst = others(now()); burst > 0; burst--) if (!server.serve(now())) refused.others++;
    const { grants } = await budget.take('live', LIMIT);
    for (const grant of grants) {
      const isServed = server.serve(now());
      if (!isServed) refused.sluice++;
      sent++;
      await budget.settle(grant, {
        purpose: 'page',
        status: isServed ? 200 : 429,
        remaining: server.left(now()),
        limit: LIMIT,
      });
    }
    await advance(MINUTE);
  }
  return { refused, sent };
}

test.each(Object.keys(POLICIES))(
  'neither Sluice nor three others are refused where each keeps to its part: %s',
  async name => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.integer({ min: 1, max: LIMIT - 1 }), async (seed, reserve) => {
        const clock = manualClock(START);
        const budget = createMemoryBudget({ clock, limit: LIMIT, reserve: () => reserve, windowMs: HOUR });
        const time = { hours: 5, now: () => clock.now(), advance: (ms: number) => clock.advance(ms) };
        const others = openOthers(seed, () => reserve);
        const { refused, sent } = await play(budget, POLICIES[name] as Policy, others, time);
        expect(refused).toEqual({ sluice: 0, others: 0 });
        // And what is not reserved is used.
        expect(sent).toBeGreaterThanOrEqual((LIMIT - reserve) * 4);
      }),
      { numRuns: 100 },
    );
  },
);

test('where the source lowers its limit, others are left the same share', async () => {
  const budget = createMemoryBudget({ clock: manualClock(START), limit: 1000, reserve: () => 300 });
  const { grants } = await budget.take('live', 1);
  for (const grant of grants) await budget.settle(grant, { purpose: 'page', status: 200, remaining: 99, limit: 100 });
  // 100 less 30 and the one that was sent.
  expect((await budget.take('live', 1000)).grants).toHaveLength(69);
});

test('of those who use more than is left to them, Sluice gives way with its next answer, and shows what they used', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, '2026-01-15T05:00:00Z');
    const reserve = () => 20;
    const options = { source: 'shop', apiKey: 'key', limit: LIMIT, reserve, windowMs: HOUR, timeoutMs: MINUTE };
    const ledger = createLedger({ database, ...options });
    const server = POLICIES.rolling?.() as ReturnType<Policy>;
    const send = async (want: number) => {
      const { grants } = await ledger.take('live', want);
      for (const grant of grants) {
        const status = server.serve(clock.now()) ? 200 : 429;
        await ledger.settle(grant, { purpose: 'page', status, remaining: server.left(clock.now()), limit: LIMIT });
      }
      return grants.length;
    };
    const seen = async () => {
      const { limit, used, free, withheld, reserve: left } = await ledger.usage();
      return { limit, used, free, withheld, reserve: left };
    };
    expect(await seen()).toEqual({ limit: 40, used: 0, free: 40, withheld: 0, reserve: 20 });
    for (let others = 0; others < 5; others++) server.serve(clock.now());
    expect(await send(10)).toBe(10);
    // They may use all that is left to them.
    expect(await seen()).toEqual({ limit: 40, used: 10, free: 30, withheld: 5, reserve: 20 });
    for (let others = 0; others < 30; others++) server.serve(clock.now());
    expect(await send(1)).toBe(1);
    expect(await seen()).toEqual({ limit: 40, used: 11, free: 14, withheld: 35, reserve: 20 });
    expect(await send(60)).toBe(14);
    expect(server.left(clock.now())).toBe(0);
  });
});

test('by hours of the day, less is sent one window before more is reserved', async () => {
  const limits = { limit: LIMIT, windowMs: HOUR, timeoutMs: 0, timeZone: 'Europe/Vienna' };
  const reserved = reservedOf('8-18:30,10', limits);
  const at = (time: string) => reserved.at(Date.parse(`2026-01-15T${time}+01:00`));
  expect(['05:00', '06:59:59', '07:00', '07:30', '12:00', '17:59', '18:00'].map(at)).toEqual([
    10, 10, 30, 30, 30, 30, 10,
  ]);
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, '2026-01-15T04:30:00Z');
    const now = () => clock.now();
    const options = { limit: LIMIT, reserve: () => reserved.at(now()), windowMs: HOUR, timeoutMs: MINUTE };
    const ledger = createLedger({ database, source: 'shop', apiKey: 'key', ...options });
    const hourly = (moment: number) => (moment >= Date.parse('2026-01-15T07:00:00Z') ? 30 : 10);
    const advance = (ms: number) => clock.advance(ms);
    const { refused, sent } = await play(ledger, POLICIES.rolling as Policy, openOthers(7, hourly), {
      hours: 5,
      advance,
      now,
    });
    expect(refused).toEqual({ sluice: 0, others: 0 });
    expect(sent).toBeGreaterThan(5 * 25);
  });
});

test('what one process leaves to others, no other process of the key takes', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, '2026-01-15T05:00:00Z');
    const options = { database, source: 'shop', apiKey: 'key', limit: LIMIT, windowMs: HOUR, timeoutMs: MINUTE };
    const leaving = createLedger({ ...options, reserve: () => 20 });
    const other = createLedger(options);
    expect((await leaving.take('live', 5)).grants).toHaveLength(5);
    expect((await other.take('live', 100)).grants).toHaveLength(35);
    expect(await other.usage()).toMatchObject({ limit: 40, used: 40, free: 0, reserve: 20 });
    // Nobody leaves anything any more.
    await clock.advance(11 * MINUTE);
    expect((await other.take('live', 100)).grants).toHaveLength(20);
  });
});

test('what Sluice plans with is what it may send at some moment of the day', () => {
  const of = { limit: 1000, windowMs: HOUR, timeoutMs: 30_000, timeZone: 'UTC' };
  expect(reservedOf('3-4:0,90%', of).least).toBe(900);
  expect(reservedOf('8-18:900,10%', of)).toMatchObject({ least: 100, most: 900 });
  // What is sent within the time-out of the last hour may count in the next.
  const at = reservedOf('8-9:500', of).at;
  expect([at(Date.parse('2026-01-15T06:59:20Z')), at(Date.parse('2026-01-15T06:59:40Z'))]).toEqual([0, 500]);
});

test.each([
  ['300', 300, 300],
  ['30%', 300, 300],
  ['8-18:300,50', 50, 300],
  ['22-6:100', 100, 0],
  ['0-24:1%', 10, 10],
  ['6-8:5, 8-10:7', 0, 0],
])('%s', (text, midnight, noon) => {
  const reserved = reservedOf(text, { limit: 1000, windowMs: HOUR, timeoutMs: 0, timeZone: 'UTC' });
  const at = (hour: string) => reserved.at(Date.parse(`2026-07-15T${hour}:00Z`));
  expect([at('00:10'), at('12:10')]).toEqual([midnight, noon]);
});

test('in a window of half an hour, half of the requests an hour are left, and the same percentage', () => {
  const most = (text: string) =>
    reservedOf(text, { limit: 500, windowMs: HOUR / 2, timeoutMs: 0, timeZone: 'UTC' }).most;
  expect([most('300'), most('30%')]).toEqual([150, 150]);
});

test.each(['', 'x', '-5', '100%', '8-8:5', '25-26:5', '8-12:5,10-14:6', '5,6', '1.5', '8-18'])(
  '"%s" is no reserve',
  text => {
    expect(parseReserve(text)).toBeNull();
  },
);
