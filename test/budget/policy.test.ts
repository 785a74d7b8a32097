import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LANES, type Lane } from '../../src/budget/budget.ts';
import {
  countOf,
  type Decision,
  decide,
  deferred,
  type Facts,
  freeOf,
  keptForLive,
  observe,
} from '../../src/budget/policy.ts';
import { HOUR, MINUTE, SECOND } from '../../src/clock.ts';

const facts = fc.record<Facts>({
  windowMs: fc.integer({ min: SECOND, max: 24 * HOUR }),
  capacity: fc.integer({ min: 1, max: 5000 }),
  withheld: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5000 })),
  used: fc.integer({ min: 0, max: 6000 }),
  blockedMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: HOUR })),
  sincePacedMs: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.integer({ min: 0, max: HOUR })),
  loweredMs: fc.constant(undefined),
});
const lane = fc.constantFrom<Lane>(...LANES);
const lower = fc.constantFrom<Lane>('backfill', 'verify');
const want = fc.integer({ min: 1, max: 100 });

const granted = (decision: Decision): number => (decision.kind === 'grant' ? decision.count : 0);
const unblocked = (given: Facts): Facts => ({ ...given, blockedMs: 0 });

describe('every decision', () => {
  test('grants between one request and as many as were asked for and are free, or names a wait above zero', () => {
    fc.assert(
      fc.property(facts, lane, want, (given, on, asked) => {
        const decision = decide(given, on, asked);
        if (decision.kind === 'grant') {
          expect(decision.count).toBeGreaterThanOrEqual(1);
          expect(decision.count).toBeLessThanOrEqual(Math.min(asked, freeOf(given)));
        } else if (decision.kind === 'wait') expect(decision.waitMs).toBeGreaterThan(0);
        else expect(decision.missing).toBeGreaterThanOrEqual(1);
      }),
    );
  });

  test('never grants more when more is used, withheld or blocked', () => {
    const more = fc.record({ used: fc.nat(500), withheld: fc.nat(500), blockedMs: fc.nat(MINUTE) });
    fc.assert(
      fc.property(facts, lane, want, more, (given, on, asked, added) => {
        const tighter = {
          ...given,
          used: given.used + added.used,
          withheld: given.withheld + added.withheld,
          blockedMs: given.blockedMs + added.blockedMs,
        };
        expect(granted(decide(tighter, on, asked))).toBeLessThanOrEqual(granted(decide(given, on, asked)));
      }),
    );
  });

  test('waits for the end of a block, whatever is free', () => {
    fc.assert(
      fc.property(facts, lane, want, fc.integer({ min: 1, max: HOUR }), (given, on, asked, blockedMs) => {
        expect(decide({ ...given, blockedMs }, on, asked)).toEqual({ kind: 'wait', waitMs: blockedMs, paced: false });
      }),
    );
  });
});

describe('the live lane', () => {
  test('gets all that is free, and is never paced', () => {
    fc.assert(
      fc.property(facts, want, (given, asked) => {
        const free = freeOf(given);
        const decision = decide(unblocked(given), 'live', asked);
        if (free > 0) expect(decision).toEqual({ kind: 'grant', count: Math.min(asked, free) });
        else expect(decision).toEqual({ kind: 'full', missing: 1 - free });
      }),
    );
  });
});

describe('the lanes below live', () => {
  test('never use the reserve', () => {
    fc.assert(
      fc.property(facts, lower, want, (given, on, asked) => {
        const count = granted(decide(given, on, asked));
        if (count > 0) expect(freeOf(given) - count).toBeGreaterThanOrEqual(keptForLive(given.capacity));
      }),
    );
  });

  test('get one request per share of the window once half of the capacity is used, and wait for exactly that long', () => {
    fc.assert(
      fc.property(facts, lower, want, (drawn, on, asked) => {
        const given = unblocked(drawn);
        const free = freeOf(given);
        fc.pre(free > keptForLive(given.capacity) && free <= given.capacity / 2);
        const pauseMs = given.windowMs / given.capacity - given.sincePacedMs;
        expect(decide(given, on, asked)).toEqual(
          pauseMs > 0 ? { kind: 'wait', waitMs: pauseMs, paced: true } : { kind: 'grant', count: 1 },
        );
        expect(decide({ ...given, sincePacedMs: given.windowMs / given.capacity }, on, asked).kind).toBe('grant');
      }),
    );
  });

  test('burst over no more than half of the capacity', () => {
    fc.assert(
      fc.property(facts, lower, want, (given, on, asked) => {
        const count = granted(decide(given, on, asked));
        if (count > 1) expect(freeOf(given) - count).toBeGreaterThanOrEqual(Math.floor(given.capacity / 2) - 1);
      }),
    );
  });

  test('are granted what they were told was missing', () => {
    fc.assert(
      fc.property(facts, lane, want, (drawn, on, asked) => {
        const given = { ...unblocked(drawn), sincePacedMs: Number.POSITIVE_INFINITY };
        const decision = decide(given, on, asked);
        if (decision.kind !== 'full' || decision.missing > given.used) return;
        expect(granted(decide({ ...given, used: given.used - decision.missing }, on, asked))).toBe(1);
        expect(granted(decide({ ...given, used: given.used - decision.missing + 1 }, on, asked))).toBe(0);
      }),
    );
  });
});

test.each([
  [1000, 10],
  [150, 2],
  [100, 1],
  [2, 1],
  [1, 0],
])('of a capacity of %i, %i are reserved for live', (capacity, reserve) => {
  expect(keptForLive(capacity)).toBe(reserve);
});

test('a deferred answer waits for whole milliseconds, at least one', () => {
  expect(deferred(0.2)).toEqual({ grants: [], waitMs: 1 });
  expect(deferred(1500.01, true)).toEqual({ grants: [], waitMs: 1501, paced: true });
});

describe('an answer', () => {
  const key = { limit: 100, windowMs: HOUR, used: 10, refusedForMs: 0 };

  test('withholds what the server counts beyond our requests', () => {
    expect(observe({ remaining: 40 }, key).withheld).toBe(50);
    expect(observe({ remaining: 95 }, key).withheld).toBe(0);
    expect(observe({ remaining: 40, limit: 60 }, key).withheld).toBe(10);
    expect(observe({ limit: 60 }, key).withheld).toBeUndefined();
  });

  test('lowers the limit, and never raises it', () => {
    expect(observe({ limit: 60 }, key).serverLimit).toBe(60);
    expect([0, 100, 5000].map(limit => observe({ limit }, key).serverLimit)).toEqual([null, null, null]);
    expect(observe({ remaining: 1 }, key).serverLimit).toBeUndefined();
  });

  test('blocks for as long as the server asked, and longer for a key that was refused again and again', () => {
    expect(observe({}, key).blockedMs).toBeUndefined();
    const blockedMs = (refusedForMs: number, windowMs = HOUR) =>
      observe({ blockedForMs: 30 * SECOND }, { ...key, windowMs, refusedForMs }).blockedMs;
    expect(blockedMs(0)).toBe(30 * SECOND);
    expect(blockedMs(3 * MINUTE)).toBe(3 * MINUTE);
    expect(blockedMs(HOUR)).toBe(10 * MINUTE);
    expect(blockedMs(HOUR, MINUTE)).toBe(MINUTE);
  });

  test('that refuses too many requests at once blocks only as long as the server asked, however often', () => {
    const again = { ...key, refusedForMs: HOUR };
    expect(observe({ blockedForMs: SECOND, crowded: true }, again).blockedMs).toBe(SECOND);
    expect(observe({ crowded: true }, again).blockedMs).toBeUndefined();
  });

  test('changes nothing by a header that is not a count', () => {
    for (const wrong of [-1, 1.5, Number.NaN, 2 ** 31]) {
      expect(countOf(wrong)).toBeUndefined();
      expect(observe({ remaining: wrong, limit: wrong }, key)).toEqual(observe({}, key));
    }
  });
});
