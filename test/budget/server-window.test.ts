import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRateLimit } from '../../sandbox/rate-limit/rate-limit.ts';
import { variantPoints } from '../../sandbox/variants/variant-points.ts';
import type { Variants } from '../../sandbox/variants/variants.ts';
import type { Budget, Grant, Lane } from '../../src/budget/budget.ts';
import { createMemoryBudget } from '../../src/budget/memory-budget.ts';
import { learnServerWindow, type ServerWindow } from '../../src/budget/server-window.ts';
import { HOUR, MINUTE, SECOND } from '../../src/clock.ts';
import { parseRateHeaders } from '../../src/source/answers/rate-limit.ts';
import { manualClock } from '../support/manual-clock.ts';
import '../support/properties.ts';
import { some } from '../support/long.ts';

const likely = Object.fromEntries(
  Object.entries(variantPoints).map(([name, { likely }]) => [name, likely]),
) as unknown as Variants;

interface Server {
  readonly limit: number;
  readonly windowMs: number;
  readonly variants?: Partial<Variants>;
}

interface Load {
  readonly lane: Lane;
  readonly atOnce: number;
  /** Longest time on the way there, and back. */
  readonly slowMs: number;
  /** Of so many minutes, requests are sent in the first only. */
  readonly everyMinutes?: number;
  readonly hours: number;
}

/** Sends as much as the budget grants to a server of the sandbox. */
async function play(server: Server, load: Load, random: () => number = () => 0.5) {
  const clock = manualClock(Date.UTC(2026, 0, 15, 10, 17, 23));
  const variants = { ...likely, ...server.variants };
  const limiter = createRateLimit({ limit: server.limit, windowMs: server.windowMs, variants: () => variants });
  const found: (ServerWindow | null)[] = [];
  const memory = createMemoryBudget({ clock, limit: 1000 });
  const budget: Budget = learnServerWindow(memory, { clock, windowMs: HOUR, onWindow: each => void found.push(each) });
  const served: number[] = [];
  let refused = 0;
  const inFlight: {
    grant: Grant;
    arrivesAt: number;
    answer?: { at: number; status: number; headers: Record<string, string> };
  }[] = [];
  const end = clock.now() + load.hours * HOUR;
  let asksAt = clock.now();
  while (clock.now() < end) {
    const now = clock.now();
    for (const request of inFlight.filter(each => !each.answer && each.arrivesAt <= now)) {
      const verdict = limiter.admit(request.arrivesAt);
      const status = verdict.allowed ? 200 : 429;
      if (verdict.allowed) served.push(request.arrivesAt);
      else refused++;
      request.answer = {
        at: now + random() * load.slowMs,
        status,
        headers: limiter.headers(verdict, request.arrivesAt, status),
      };
    }
    for (const request of inFlight.filter(({ answer }) => answer && answer.at <= now)) {
      inFlight.splice(inFlight.indexOf(request), 1);
      const { status, headers } = request.answer ?? { status: 0, headers: {} };
      const lower = Object.fromEntries(Object.entries(headers).map(([name, text]) => [name.toLowerCase(), text]));
      const { limit, remaining, resetMs, retryAfterMs } = parseRateHeaders(lower, { nowMs: now, windowMs: HOUR });
      await budget.settle(request.grant, {
        purpose: 'page',
        status,
        ...(limit !== undefined && { limit }),
        ...(remaining !== undefined && { remaining }),
        ...(resetMs !== undefined && { resetMs }),
        ...(status === 429 && { blockedForMs: retryAfterMs ?? SECOND }),
      });
      asksAt = now;
    }
    const isBusy = Math.floor(now / MINUTE) % (load.everyMinutes ?? 1) === 0;
    const want = load.atOnce - inFlight.length;
    let waitMs = MINUTE;
    if (want > 0 && asksAt <= now && isBusy) {
      const taken = await budget.take(load.lane, want);
      for (const grant of taken.grants) inFlight.push({ grant, arrivesAt: now + random() * load.slowMs });
      if (taken.grants.length === 0) asksAt = now + Math.min(taken.waitMs, MINUTE);
    }
    const events = inFlight.map(({ arrivesAt, answer }) => answer?.at ?? arrivesAt);
    waitMs = Math.min(...events, asksAt > now ? asksAt : now + (isBusy ? SECOND : MINUTE)) - now;
    clock.advance(Math.max(Math.ceil(waitMs), 1));
  }
  const inHour = (from: number) => served.filter(at => at >= from && at < from + HOUR).length;
  return { served, refused, found, inHour, startedAt: end - load.hours * HOUR };
}

const live: Load = { lane: 'live', atOnce: 4, slowMs: 200, hours: 3 };
const KINDS = Object.keys(variantPoints['rate-window'].values) as Variants['rate-window'][];

describe('a limit per minute', () => {
  test.each(
    some(
      KINDS.flatMap(kind => (['live', 'backfill'] as const).map(lane => [kind, lane] as const)),
      2,
    ),
  )('is found out and used, and no request is refused: %s, %s', async (kind, lane) => {
    const { refused, found, inHour, startedAt } = await play(
      { limit: 60, windowMs: MINUTE, variants: { 'rate-window': kind } },
      { ...live, lane },
    );
    expect(refused).toBe(0);
    expect(found.at(-1)?.limit).toBe(60);
    expect(inHour(startedAt + HOUR)).toBeGreaterThan(900);
  });
});

test.each(KINDS)(
  'a limit of 60 an hour is not taken for one per minute, and probing it costs nothing: %s',
  async kind => {
    for (const lane of ['live', 'backfill'] as const) {
      const { refused, found } = await play(
        { limit: 60, windowMs: HOUR, variants: { 'rate-window': kind } },
        { ...live, lane },
      );
      expect({ refused, found }).toEqual({ refused: 0, found: [] });
    }
  },
);

test('whatever the window, how it is counted and how requests come, none is refused and no window holds more than the limit', async () => {
  const server = fc.record({
    limit: fc.constantFrom(10, 60, 100, 600),
    windowMs: fc.constantFrom(MINUTE, 10 * MINUTE, HOUR),
    variants: fc.record({
      'rate-window': fc.constantFrom(...KINDS),
      'rate-reset': fc.constantFrom(...(Object.keys(variantPoints['rate-reset'].values) as Variants['rate-reset'][])),
    }),
  });
  const load = fc.record({
    lane: fc.constantFrom('live', 'backfill') as fc.Arbitrary<Lane>,
    atOnce: fc.constantFrom(1, 4, 10),
    slowMs: fc.constantFrom(0, 300, 20_000),
    everyMinutes: fc.constantFrom(1, 3, 25),
    hours: fc.constant(3),
  });
  await fc.assert(
    fc.asyncProperty(
      server,
      load,
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
      async (given, sent, numbers) => {
        const { refused, found, served } = await play(given, sent, () => numbers.next().value as number);
        expect(refused).toBe(0);
        for (const each of found) expect(each?.windowMs ?? HOUR).toBeGreaterThanOrEqual(given.windowMs);
        const times = served.toSorted((a, b) => a - b);
        const tooMany = times.filter(
          (at, nth) => at - (times[nth - given.limit] ?? Number.NEGATIVE_INFINITY) < given.windowMs,
        );
        expect(tooMany).toEqual([]);
      },
    ),
    { numRuns: 15 },
  );
});

describe('once a shorter window is known', () => {
  const learnt = async () => {
    const clock = manualClock();
    const budget = createMemoryBudget({ clock, limit: 1000 });
    const send = async () => (await budget.take('live', 1)).grants[0] as Grant;
    await budget.settle(await send(), { purpose: 'page', status: 200, limit: 60, remaining: 59 });
    const report = { purpose: 'page', status: 200, limit: 60, remaining: 59, serverWindowMs: MINUTE };
    await budget.settle(await send(), report);
    expect((await budget.take('live', 100)).grants).toHaveLength(58);
    clock.advance(2 * MINUTE);
    const [first, ...others] = (await budget.take('live', 4)).grants;
    await budget.release(others);
    return { clock, budget, first: first as Grant };
  };
  const LEFT = { purpose: 'page', limit: 60 };

  test.each([
    ['a refusal', { ...LEFT, status: 429, remaining: 0, blockedForMs: SECOND }],
    ['a reset that is further away', { ...LEFT, status: 200, remaining: 50, resetMs: 2 * MINUTE }],
    ['another limit', { ...LEFT, status: 200, remaining: 50, limit: 59 }],
  ])('%s brings back our own at once', async (_, settlement) => {
    const { clock, budget, first } = await learnt();
    await budget.settle(first, settlement);
    clock.advance(2 * MINUTE);
    expect((await budget.take('live', 1)).grants).toEqual([]);
  });

  test('any other answer leaves it as it is', async () => {
    const { clock, budget, first } = await learnt();
    await budget.settle(first, { ...LEFT, status: 200, remaining: 59, resetMs: 30 * SECOND });
    clock.advance(2 * MINUTE);
    expect((await budget.take('live', 100)).grants.length).toBeGreaterThan(0);
  });
});
