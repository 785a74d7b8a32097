import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Budget, type Grant, type Lane, rankOf } from '../../src/budget/budget.ts';
import { createLimiter, type LimiterOptions } from '../../src/budget/limiter.ts';
import { createMemoryBudget } from '../../src/budget/memory-budget.ts';
import { HOUR, MINUTE, SECOND, systemClock } from '../../src/clock.ts';
import { SluiceError } from '../../src/errors.ts';
import { manualClock } from '../support/manual-clock.ts';
import { countingBudget } from './counting-budget.ts';

function open(options: Partial<LimiterOptions> & { budget: Budget }) {
  return createLimiter({ concurrency: 2, clock: manualClock(), ...options });
}

/** A request that stays in flight until `end` is called. */
function held() {
  let end = () => {};
  const ended = new Promise<void>(resolve => {
    end = resolve;
  });
  let begin = () => {};
  const begun = new Promise<void>(resolve => {
    begin = resolve;
  });
  const send = async (grant: Grant) => {
    begin();
    await ended;
    return grant.id;
  };
  return { send, begun, end };
}

describe('limiter', () => {
  it('never has more in flight than the concurrency, and loses nothing', async () => {
    const budget = countingBudget();
    const limiter = open({ budget, concurrency: 3 });
    let inFlight = 0;
    let most = 0;
    const full = held();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        limiter.schedule('backfill', undefined, async grant => {
          most = Math.max(most, ++inFlight);
          if (inFlight === 3) full.end();
          await full.send(grant);
          inFlight--;
          await budget.settle(grant, { purpose: 'test', status: 200 });
          return n;
        }),
      ),
    );
    expect(answers).toEqual(Array.from({ length: 40 }, (_, n) => n));
    expect(most).toBe(3);
    await limiter.close();
    expect([budget.open(), budget.settled.length]).toEqual([0, 40]);
  });

  it('serves live before backfill before verify, each in order of arrival', async () => {
    const limiter = open({ budget: countingBudget(), concurrency: 1 });
    const first = held();
    const served: string[] = [];
    const all = [limiter.schedule('verify', undefined, first.send)];
    await first.begun;
    for (const name of ['verify 1', 'backfill 1', 'live 1', 'verify 2', 'live 2', 'backfill 2']) {
      all.push(
        limiter.schedule(name.split(' ')[0] as Lane, undefined, async grant => {
          served.push(name);
          return grant.id;
        }),
      );
    }
    first.end();
    await Promise.all(all);
    expect(served).toEqual(['live 1', 'live 2', 'backfill 1', 'backfill 2', 'verify 1', 'verify 2']);
  });

  it('takes grants for no more than can be sent at once', async () => {
    const budget = countingBudget();
    const limiter = open({ budget, concurrency: 2 });
    const jobs = [held(), held(), held()];
    const all = jobs.map(job => limiter.schedule('live', undefined, job.send));
    await Promise.all(jobs.slice(0, 2).map(({ begun }) => begun));
    expect(budget.open()).toBe(2);
    for (const job of jobs) job.end();
    await Promise.all(all);
  });

  it('grants a live request at once while it sleeps for a paced lower lane', async () => {
    const clock = manualClock();
    const paced: Budget = {
      ...countingBudget(),
      take: async lane =>
        lane === 'live'
          ? { grants: [{ id: 'l', grantedAt: 'now', unused: 1 }], waitMs: 0 }
          : { grants: [], waitMs: HOUR },
    };
    const waits: [Lane, number][] = [];
    const limiter = open({ budget: paced, clock, onWait: (lane, ms) => waits.push([lane, ms]) });
    const verify = limiter.schedule('verify', undefined, async () => 'verify');
    await clock.sleepers();
    expect(await limiter.schedule('live', undefined, async grant => grant.id)).toBe('l');
    expect(waits[0]).toEqual(['verify', HOUR]);
    await Promise.all([limiter.close(), expect(verify).rejects.toMatchObject({ kind: 'stopped' })]);
  });

  it('sees a live request that arrives while the budget is asked for a lower lane', async () => {
    let answer: (taken: { grants: Grant[]; waitMs: number }) => void = () => {};
    const asked: Lane[] = [];
    const budget: Budget = {
      ...countingBudget(),
      take(lane) {
        asked.push(lane);
        if (asked.length > 1)
          return Promise.resolve({ grants: [{ id: lane, grantedAt: 'now', unused: 1 }], waitMs: 0 });
        return new Promise(resolve => {
          answer = resolve;
        });
      },
    };
    const limiter = open({ budget });
    const verify = limiter.schedule('verify', undefined, async grant => grant.id);
    const live = limiter.schedule('live', undefined, async grant => grant.id);
    answer({ grants: [], waitMs: HOUR });
    expect([await live, await verify]).toEqual(['live', 'verify']);
    expect(asked).toEqual(['verify', 'live', 'verify']);
    await limiter.close();
  });

  it('waits for the limit, asks again at least once a minute, and continues when a request is free', async () => {
    const clock = manualClock();
    const budget = createMemoryBudget({ clock, limit: 1 });
    const waits: number[] = [];
    const limiter = open({ budget, clock, onWait: (_lane, ms) => waits.push(ms) });
    const send = async (grant: Grant) => {
      await budget.settle(grant, { purpose: 'test', status: 200 });
      return grant.id;
    };
    await limiter.schedule('live', undefined, send);
    const second = limiter.schedule('live', undefined, send);
    for (let passedMs = 0; passedMs < HOUR; passedMs += MINUTE) {
      expect(await clock.sleepers()).toEqual([MINUTE]);
      clock.advance(MINUTE);
    }
    expect(await second).toBe('2');
    expect([waits[0], waits.at(-1), waits.length]).toEqual([HOUR, MINUTE, 60]);
  });

  it('with noWait refuses a wait above five seconds as `quota`, and waits for a shorter one', async () => {
    const clock = manualClock();
    let waitMs = 4 * SECOND;
    const budget: Budget = { ...countingBudget(), take: async () => ({ grants: [], waitMs }) };
    const limiter = open({ budget, clock, noWait: true });
    const asked = limiter.schedule('live', undefined, async () => 'never');
    const refused = expect(asked).rejects.toMatchObject({
      kind: 'quota',
      message: 'The request limit is used up until 2026-01-15 10:30:04 UTC.',
    });
    expect(await clock.sleepers()).toEqual([4 * SECOND]);
    waitMs = 30 * MINUTE;
    clock.advance(4 * SECOND);
    await refused;
    await limiter.close();
  });

  it('with noWait waits for the pace of a lower lane, however slow, and refuses once the limit is used up', async () => {
    const clock = manualClock();
    const budget = createMemoryBudget({ clock, limit: 60 });
    await budget.take('backfill', 60);
    const limiter = open({ budget, clock, noWait: true });
    const paced = limiter.schedule('backfill', undefined, async grant => grant.id);
    expect(await clock.sleepers()).toEqual([MINUTE]);
    clock.advance(MINUTE);
    expect(await paced).toBe('31');
    await budget.take('live', 60);
    const refused = limiter.schedule('backfill', undefined, async () => 'never');
    await expect(refused).rejects.toMatchObject({ kind: 'quota' });
    await limiter.close();
  });

  it('lets a waiting request leave at once, and gives its grant to no lower lane', async () => {
    const budget = countingBudget();
    const limiter = open({ budget, concurrency: 1 });
    const leaving = new AbortController();
    const live = limiter.schedule('live', leaving.signal, async () => 'live');
    const verify = limiter.schedule('verify', undefined, async grant => grant.id);
    leaving.abort();
    await expect(live).rejects.toMatchObject({ kind: 'stopped' });
    // The first grant was taken for live; it is released, and verify gets one of its own.
    expect(await verify).toBe('g2');
    expect(budget.released.map(({ id }) => id)).toEqual(['g1']);
    expect(budget.taken.map(({ lane }) => lane)).toEqual(['live', 'verify']);
    await limiter.close();
  });

  it('takes no grant for requests that have left, however many waited', async () => {
    const clock = manualClock();
    const good = countingBudget();
    let isUsedUp = true;
    const budget: Budget = {
      ...good,
      take: (lane, want) => (isUsedUp ? Promise.resolve({ grants: [], waitMs: HOUR }) : good.take(lane, want)),
    };
    const limiter = open({ budget, clock });
    const leaving = new AbortController();
    const left = Array.from({ length: 10 }, () => limiter.schedule('live', leaving.signal, async () => 'left'));
    await clock.sleepers();
    leaving.abort();
    for (const each of await Promise.allSettled(left)) expect(each.status).toBe('rejected');
    isUsedUp = false;
    expect(await limiter.schedule('verify', undefined, async grant => grant.id)).toBe('g1');
    expect([good.taken, good.released]).toEqual([[{ lane: 'verify', count: 1 }], []]);
    await limiter.close();
  });

  it.each([0, 1, 2, 3, 4])(
    'returns a grant at hand for a place that a refusal takes away, %i steps of Bottleneck after it was taken',
    async steps => {
      const budget = countingBudget();
      const limiter = open({ budget, concurrency: 2 });
      let inFlight = 1;
      const others: Promise<void>[] = [];
      await limiter.schedule('live', undefined, async (grant, place) => {
        const send = async (each: Grant) => {
          inFlight++;
          await tick(1);
          inFlight--;
          await budget.settle(each, { purpose: 'test', status: 200 });
        };
        others.push(...[1, 2, 3].map(() => limiter.schedule('live', undefined, send)));
        for (let n = 0; n < 10; n++) await Promise.resolve();
        expect(budget.open()).toBe(2);
        for (let n = 0; n < steps && inFlight === 1; n++) await new Promise(resolve => setTimeout(resolve, 0));
        const isAtHand = inFlight === 1 && budget.settled.length === 0;
        place.report('crowded');
        if (isAtHand) expect(budget.released).toHaveLength(1);
        inFlight--;
        await budget.settle(grant, { purpose: 'test', status: 429 });
      });
      await Promise.all(others);
      await limiter.close();
      expect(budget.open()).toBe(0);
    },
  );

  it('rejects with the reason that the signal was aborted with', async () => {
    const limiter = open({ budget: countingBudget() });
    const aborted = AbortSignal.abort(new SluiceError('stale', 'moved'));
    await expect(limiter.schedule('live', aborted, async () => 1)).rejects.toMatchObject({ kind: 'stale' });
  });

  it('refuses all waiting requests when the budget fails, and recovers', async () => {
    const good = countingBudget();
    let broken = true;
    const budget: Budget = {
      ...good,
      take: (lane, want) => (broken ? Promise.reject(new SluiceError('database', 'down')) : good.take(lane, want)),
    };
    const limiter = open({ budget });
    await expect(limiter.schedule('live', undefined, async () => 1)).rejects.toMatchObject({ kind: 'database' });
    broken = false;
    expect(await limiter.schedule('live', undefined, async () => 2)).toBe(2);
  });

  it('close refuses waiting requests, awaits those in flight, and leaves no grant behind', async () => {
    const budget = countingBudget();
    const limiter = open({ budget, concurrency: 1 });
    const first = held();
    const flying = limiter.schedule('live', undefined, async grant => {
      await first.send(grant);
      await budget.settle(grant, { purpose: 'test', status: 200 });
    });
    await first.begun;
    const waiting = limiter.schedule('live', undefined, async () => 1);
    const closed = limiter.close();
    await expect(waiting).rejects.toMatchObject({ kind: 'stopped' });
    first.end();
    await Promise.all([flying, closed]);
    expect(budget.open()).toBe(0);
    await expect(limiter.schedule('live', undefined, async () => 1)).rejects.toMatchObject({ kind: 'stopped' });
  });

  it('close releases grants that arrive while it closes', async () => {
    const budget = countingBudget();
    const limiter = open({ budget });
    const asked = limiter.schedule('live', undefined, async () => 1);
    await Promise.all([expect(asked).rejects.toMatchObject({ kind: 'stopped' }), limiter.close()]);
    expect([budget.open(), budget.released.length]).toEqual([0, 1]);
  });

  it('ends every request and settles every grant, higher lanes first, in any order of arrivals, departures and waits', async () => {
    const job = fc.record({
      lane: fc.constantFrom<Lane>('live', 'backfill', 'verify'),
      leavesAfter: fc.option(fc.integer({ min: 0, max: 6 })),
      ticks: fc.integer({ min: 0, max: 3 }),
      isCrowded: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(job, { maxLength: 12 }), fc.integer({ min: 1, max: 6 }), async (jobs, concurrency) => {
        const clock = { ...systemClock, sleep: (_ms: number, signal?: AbortSignal) => systemClock.sleep(1, signal) };
        let turns = 0;
        const all = countingBudget();
        // Every third take is answered with a wait.
        const takenFor = new Map<string, Lane>();
        const budget: Budget = {
          ...all,
          async take(lane, want) {
            const taken = ++turns % 3 ? await all.take(lane, want) : { grants: [], waitMs: 1 };
            for (const { id } of taken.grants) takenFor.set(id, lane);
            return taken;
          },
        };
        const waiting = new Set<{ lane: Lane }>();
        const limiter = open({ budget, clock, concurrency });
        let inFlight = 0;
        const results = await Promise.allSettled(
          jobs.map(async job => {
            const { lane, leavesAfter, ticks, isCrowded } = job;
            const leaving = new AbortController();
            leaving.signal.addEventListener('abort', () => waiting.delete(job));
            if (leavesAfter !== null) void tick(leavesAfter).then(() => leaving.abort());
            waiting.add(job);
            return limiter.schedule(lane, leaving.signal, async (grant, place) => {
              waiting.delete(job);
              expect(++inFlight).toBeLessThanOrEqual(concurrency);
              expect(rankOf(takenFor.get(grant.id) ?? 'live')).toBeGreaterThanOrEqual(rankOf(lane));
              for (const other of waiting) expect(rankOf(other.lane)).toBeGreaterThanOrEqual(rankOf(lane));
              await tick(ticks);
              if (isCrowded) place.report('crowded');
              inFlight--;
              await all.settle(grant, { purpose: 'test', status: 200 });
            });
          }),
        );
        const errors = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []));
        expect(errors.every(error => error instanceof SluiceError && error.kind === 'stopped')).toBe(true);
        for (const [n, { leavesAfter }] of jobs.entries())
          if (leavesAfter === null) expect(results[n]?.status).toBe('fulfilled');
        await limiter.close();
        expect(all.open()).toBe(0);
      }),
      { numRuns: 60 },
    );
  });
});

async function tick(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise(resolve => setImmediate(resolve));
}
