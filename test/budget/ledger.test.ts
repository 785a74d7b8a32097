import { expect, test } from 'vitest';
import type { Budget, Grant, Lane } from '../../src/budget/budget.ts';
import { createLedger, type Ledger } from '../../src/budget/ledger/ledger.ts';
import { RECORDED_WITHIN_MS } from '../../src/budget/ledger/settle.ts';
import { HOUR, MINUTE, SECOND } from '../../src/clock.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { type TestDatabase, withDatabase } from '../support/database.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const KEY = 'the-key-itself';
const SETTLED = { purpose: 'page', status: 200 } as const;

function ledgerOn(database: Database, options: Partial<Parameters<typeof createLedger>[0]> = {}): Ledger {
  return createLedger({
    ...options,
    database,
    source: 'shop',
    apiKey: options.apiKey ?? KEY,
    limit: options.limit ?? 100,
    windowMs: options.windowMs ?? HOUR,
    timeoutMs: options.timeoutMs ?? 30 * SECOND,
  });
}

/** A database on a virtual clock, and a ledger of 100 requests an hour. */
function withLedger(
  fn: (ledger: Ledger, clock: VirtualClock, database: Database, test: TestDatabase) => Promise<void>,
) {
  return withDatabase(async (database, test) => {
    const clock = await createVirtualClock(database);
    await fn(ledgerOn(database), clock, database, test);
  });
}

async function settleAll(ledger: Ledger, grants: readonly Grant[]): Promise<void> {
  for (const grant of grants) await ledger.settle(grant, SETTLED);
}

test('the ledger is a Budget', async () => {
  await withLedger(async ledger => {
    const budget: Budget = ledger;
    expect(await budget.take('live', 1)).toMatchObject({ waitMs: 0, grants: [{ id: '1' }] });
  });
});

test('live may take the whole limit, and then waits until the first request stops counting', async () => {
  await withLedger(async (ledger, clock) => {
    const { grants } = await ledger.take('live', 60);
    expect(grants).toHaveLength(60);
    await clock.advance(10 * SECOND);
    await settleAll(ledger, grants);
    await clock.advance(10 * MINUTE);
    expect((await ledger.take('live', 60)).grants).toHaveLength(40);
    expect(await ledger.take('live', 1)).toEqual({ grants: [], waitMs: 50 * MINUTE });
    await clock.advance(50 * MINUTE - 1);
    expect(await ledger.take('live', 1)).toEqual({ grants: [], waitMs: 1 });
    await clock.advance(1);
    expect((await ledger.take('live', 100)).grants).toHaveLength(60);
  });
});

test('a request counts from its grant until one window after its answer', async () => {
  await withLedger(async (ledger, clock) => {
    const { grants } = await ledger.take('live', 100);
    await clock.advance(20 * SECOND);
    await settleAll(ledger, grants);
    await clock.advance(HOUR - 1);
    expect((await ledger.take('live', 1)).grants).toHaveLength(0);
    await clock.advance(1);
    expect((await ledger.take('live', 1)).grants).toHaveLength(1);
  });
});

test('after a crash a grant counts for its time-out and one window', async () => {
  await withLedger(async (ledger, clock) => {
    await ledger.take('live', 100);
    await clock.advance(HOUR);
    // A request in flight is free one window from now at the earliest, unless its time-out passed before.
    expect(await ledger.take('live', 1)).toEqual({ grants: [], waitMs: 30 * SECOND });
    await clock.advance(30 * SECOND);
    expect((await ledger.take('live', 100)).grants).toHaveLength(100);
  });
});

test('a released grant stops counting at once; an answered one cannot be released', async () => {
  await withLedger(async ledger => {
    const { grants } = await ledger.take('live', 100);
    await ledger.settle(grants[0] as Grant, SETTLED);
    await ledger.release(grants);
    expect((await ledger.take('live', 100)).grants).toHaveLength(99);
  });
});

test.each(['backfill', 'verify'] as const)('%s bursts over half of the limit, then is paced', async lane => {
  await withLedger(async (ledger, clock) => {
    expect((await ledger.take(lane, 100)).grants).toHaveLength(50);
    expect(await ledger.take(lane, 100)).toEqual({ grants: [], waitMs: 36 * SECOND, paced: true });
    await clock.advance(35 * SECOND);
    expect(await ledger.take('backfill', 1)).toEqual({ grants: [], waitMs: SECOND, paced: true });
    await clock.advance(SECOND);
    expect((await ledger.take('verify', 5)).grants).toHaveLength(1);
    // One pace for both lanes.
    expect(await ledger.take('backfill', 1)).toEqual({ grants: [], waitMs: 36 * SECOND, paced: true });
    expect((await ledger.take('live', 100)).grants).toHaveLength(49);
  });
});

test('after the database clock was set back by hours, the pace starts again at once', async () => {
  await withLedger(async (ledger, _clock, database) => {
    expect((await ledger.take('backfill', 100)).grants).toHaveLength(50);
    await database.query(`update sluice.budgets set paced_at = paced_at + interval '5 hours'`);
    expect((await ledger.take('backfill', 100)).grants).toHaveLength(1);
    expect(await ledger.take('backfill', 100)).toEqual({ grants: [], waitMs: 36 * SECOND, paced: true });
  });
});

test('after the database clock was hours ahead, nothing is held up for longer than a window, and the limit holds', async () => {
  await withLedger(async (ledger, clock, database) => {
    const putBack = () => database.query(`update sluice.test_clock set now = now - interval '5 hours'`);
    const { grants } = await ledger.take('live', 60);
    await settleAll(ledger, grants.slice(0, 50));
    await clock.advance(MINUTE);
    await putBack();
    // For the source a minute has passed: its requests count, including those in flight.
    expect((await ledger.take('live', 100)).grants).toHaveLength(40);
    expect(await ledger.take('live', 1)).toEqual({ grants: [], waitMs: HOUR });
    await ledger.settle(grants[50] as Grant, SETTLED);
    await database.query(`update sluice.test_clock set now = now + interval '1 hour'`);
    expect((await ledger.take('live', 100)).grants).toHaveLength(51);
    await database.query(`update sluice.test_clock set now = now + interval '30 seconds'`);
    expect((await ledger.take('live', 100)).grants).toHaveLength(49);
  });
});

test('a short window is no longer after the database clock was set back by minutes', async () => {
  await withDatabase(async database => {
    await createVirtualClock(database);
    const ledger = ledgerOn(database, { windowMs: MINUTE });
    await settleAll(ledger, (await ledger.take('live', 100)).grants);
    await database.query(`update sluice.test_clock set now = now - interval '8 minutes'`);
    await ledger.take('live', 1);
    expect(await ledger.take('live', 1)).toEqual({ grants: [], waitMs: MINUTE });
    await database.query(`update sluice.test_clock set now = now + interval '1 minute'`);
    expect((await ledger.take('live', 100)).grants).toHaveLength(100);
  });
});

test('a report of the source that arrived while the database clock was hours ahead holds for no longer than a window', async () => {
  await withLedger(async (ledger, _clock, database) => {
    const putBack = () => database.query(`update sluice.test_clock set now = now - interval '5 hours'`);
    const later = (by: string) => database.query('update sluice.test_clock set now = now + cast($1 as interval)', [by]);
    const [first, second] = (await ledger.take('live', 2)).grants as [Grant, Grant];
    await ledger.settle(first, { ...SETTLED, remaining: 0, limit: 50 });
    await ledger.settle(second, { purpose: 'page', status: 429, blockedForMs: HOUR });
    await putBack();
    expect(await ledger.take('live', 1)).toEqual({ grants: [], waitMs: HOUR });
    await later('1 hour');
    expect((await ledger.take('live', 100)).grants).toHaveLength(100);
  });
});

test('while the clock runs forward, no request of a process with a longer time-out stops counting early', async () => {
  await withLedger(async (ledger, clock, database) => {
    const patient = ledgerOn(database, { timeoutMs: 2 * HOUR });
    await patient.take('live', 100);
    await clock.advance(SECOND);
    await ledger.take('live', 1);
    await clock.advance(3 * HOUR - 2 * SECOND);
    expect((await ledger.take('live', 1)).grants).toHaveLength(0);
    await clock.advance(SECOND);
    expect((await ledger.take('live', 1)).grants).toHaveLength(1);
  });
});

test('after the database clock jumped ahead, the Remaining of the first answer holds instead of our empty window', async () => {
  await withLedger(async (ledger, clock) => {
    const { grants } = await ledger.take('live', 90);
    await settleAll(ledger, grants);
    // For the source no time has passed.
    await clock.advance(2 * HOUR);
    const [first] = (await ledger.take('live', 1)).grants;
    expect(await ledger.usage()).toMatchObject({ used: 1, withheld: 0, free: 99 });
    await ledger.settle(first as Grant, { ...SETTLED, remaining: 9 });
    expect(await ledger.usage()).toMatchObject({ used: 1, withheld: 90, free: 9 });
    expect((await ledger.take('live', 100)).grants).toHaveLength(9);
    expect((await ledger.take('live', 1)).grants).toHaveLength(0);
  });
});

test.each([
  [1000, 10],
  [100, 1],
  [101, 2],
  [10, 1],
  [1, 0],
])('of a limit of %i requests, %i are reserved for live', async (limit, reserved) => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const ledger = ledgerOn(database, { limit });
    const taken = await ledger.take('live', limit - reserved);
    expect(taken.grants).toHaveLength(limit - reserved);
    await clock.advance(MINUTE);
    expect((await ledger.take('backfill', 1)).grants).toHaveLength(0);
    if (reserved > 0) await ledger.release(taken.grants.slice(0, 1));
    await clock.advance(MINUTE);
    expect((await ledger.take('backfill', 9)).grants).toHaveLength(reserved > 0 ? 1 : 0);
    expect((await ledger.take('live', limit)).grants).toHaveLength(reserved);
  });
});

test('after a 429 every process on the key waits, and other keys do not', async () => {
  await withLedger(async (ledger, clock, database, test) => {
    const other = await test.open();
    try {
      const { grants } = await ledger.take('live', 1);
      await ledger.settle(grants[0] as Grant, { purpose: 'page', status: 429, blockedForMs: 90 * SECOND });
      await clock.advance(30 * SECOND);
      expect(await ledgerOn(other).take('live', 1)).toEqual({ grants: [], waitMs: 60 * SECOND });
      expect((await ledgerOn(database, { apiKey: 'another' }).take('live', 1)).grants).toHaveLength(1);
      expect((await ledger.usage()).blockedUntil).toBe('2026-01-15 10:01:30+00');
      await clock.advance(60 * SECOND);
      expect((await ledgerOn(other).take('live', 1)).grants).toHaveLength(1);
    } finally {
      await other.close();
    }
  });
});

test('a 429 to a request older than the last answered one blocks only as long as the server asked', async () => {
  await withLedger(async (ledger, clock) => {
    const { grants } = await ledger.take('live', 2);
    const [older, newer] = grants as [Grant, Grant];
    await ledger.settle(newer, SETTLED);
    await ledger.settle(older, { purpose: 'page', status: 429, blockedForMs: SECOND });
    expect(await ledger.take('live', 1)).toEqual({ grants: [], waitMs: SECOND });
    await clock.advance(SECOND);
    expect((await ledger.take('live', 1)).grants).toHaveLength(1);
  });
});

test("the server's count lowers ours, never raises it, and lapses after one window", async () => {
  await withLedger(async (ledger, clock) => {
    const [first, second, third] = (await ledger.take('live', 3)).grants as [Grant, Grant, Grant];
    await ledger.settle(first, { ...SETTLED, remaining: 20, limit: 100 });
    // 80 counted there, 3 here: another program has 77.
    expect(await ledger.usage()).toMatchObject({ used: 3, withheld: 77, free: 20 });
    await ledger.settle(second, { ...SETTLED, remaining: 50 });
    expect(await ledger.usage()).toMatchObject({ withheld: 47, free: 50 });
    await ledger.settle(third, { ...SETTLED, remaining: 5000, limit: 5000 });
    expect(await ledger.usage()).toMatchObject({ limit: 100, withheld: 0, free: 97 });

    const [fourth] = (await ledger.take('live', 1)).grants as [Grant];
    await ledger.settle(fourth, { ...SETTLED, remaining: 0, limit: 100 });
    expect(await ledger.take('live', 1)).toEqual({ grants: [], waitMs: HOUR });
    await clock.advance(HOUR);
    expect((await ledger.take('live', 100)).grants).toHaveLength(100);
  });
});

test('a smaller limit of the server holds until one window after it was last reported', async () => {
  await withLedger(async (ledger, clock) => {
    const [first, second] = (await ledger.take('live', 2)).grants as [Grant, Grant];
    await ledger.settle(first, { ...SETTLED, limit: 10 });
    expect(await ledger.usage()).toMatchObject({ limit: 10, used: 2, free: 8 });
    await clock.advance(MINUTE);
    await ledger.settle(second, { ...SETTLED, limit: 12 });
    expect((await ledger.take('live', 100)).grants).toHaveLength(10);
    await clock.advance(HOUR);
    expect(await ledger.usage()).toMatchObject({ limit: 100 });
  });
});

test('of two limits configured for one key the lower holds, until one window after its last use', async () => {
  await withLedger(async (ledger, clock, database) => {
    const lower = ledgerOn(database, { limit: 10 });
    expect((await ledger.take('live', 5)).grants).toHaveLength(5);
    expect((await lower.take('live', 1)).grants).toHaveLength(1);
    expect((await ledger.take('live', 100)).grants).toHaveLength(4);
    await clock.advance(HOUR + MINUTE);
    expect((await ledger.take('live', 100)).grants).toHaveLength(100);
  });
});

test('usage reports requests by lane and purpose, and when the next one is free', async () => {
  await withLedger(async (ledger, clock) => {
    expect(await ledger.usage()).toMatchObject({ used: 0, free: 100, nextFreeAt: null, byPurpose: {} });
    const { grants } = await ledger.take('live', 40);
    await settleAll(ledger, grants);
    await ledger.take('backfill', 10);
    expect(await ledger.usage()).toEqual({
      limit: 100,
      used: 50,
      isNew: true,
      withheld: 0,
      reserve: 0,
      free: 50,
      blockedUntil: null,
      nextFreeAt: null,
      byLane: { live: 40, backfill: 10, verify: 0 },
      byPurpose: { page: 40, 'under way': 10 },
    });
    await clock.advance(MINUTE);
    await ledger.take('live', 50);
    expect(await ledger.usage()).toMatchObject({ free: 0, nextFreeAt: '2026-01-15 11:00:00+00' });
  });
});

test('a ledger whose requests have become counts is not new', async () => {
  await withLedger(async (ledger, _clock, database) => {
    await ledger.take('live', 1);
    expect(await ledger.usage()).toMatchObject({ isNew: true });
    await database.query(`insert into sluice.requests_by_minute (source, minute, lane, purpose, status, requests)
      values ('shop', now(), 'live', 'page', 200, 1)`);
    expect(await ledger.usage()).toMatchObject({ isNew: false });
  });
});

test('the key itself is stored nowhere', async () => {
  await withLedger(async (ledger, _clock, database) => {
    await ledger.take('live', 1);
    const { rows } = await database.query('select b::text as b, r::text as r from sluice.budgets b, sluice.requests r');
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(KEY);
  });
});

test('processes that take at the same moment never get more than the limit together', async () => {
  await withLedger(async (_ledger, _clock, _database, test) => {
    const processes = await Promise.all(Array.from({ length: 4 }, (_, i) => test.open(`process ${i}`)));
    try {
      const ledgers = processes.map(process => ledgerOn(process));
      const taken = await Promise.all(
        Array.from({ length: 80 }, (_, i) => (ledgers[i % 4] as Ledger).take('live', 1 + (i % 3))),
      );
      const ids = taken.flatMap(({ grants }) => grants.map(grant => grant.id));
      expect(ids).toHaveLength(100);
      expect(new Set(ids).size).toBe(100);
    } finally {
      await Promise.all(processes.map(process => process.close()));
    }
  });
});

/** A request that may have reached the server at any moment from `from` to `to`. */
interface Sent {
  readonly from: number;
  to: number;
}

function random(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

/** The most requests that any window can have held, each at its worst moment. */
function fullestWindow(sent: readonly Sent[]): number {
  return Math.max(...sent.map(({ from: end }) => sent.filter(({ from, to }) => from <= end && to > end - HOUR).length));
}

test.each([1, 2, 3])(
  'no rolling window ever holds more requests than the limit, whatever happens (seed %i)',
  async seed => {
    await withLedger(async (_ledger, clock, _database, test) => {
      const pick = random(seed);
      const limit = 40;
      const timeoutMs = 5 * MINUTE;
      const processes = await Promise.all([test.open('a'), test.open('b'), test.open('c')]);
      try {
        const ledgers = processes.map(process => ledgerOn(process, { limit, timeoutMs }));
        const sent: Sent[] = [];
        const open: { ledger: Ledger; grant: Grant; sent: Sent; due: number }[] = [];
        for (let step = 0; step < 400; step++) {
          const ledger = ledgers[pick(3)] as Ledger;
          const lane = (['live', 'live', 'backfill', 'verify'] as const)[pick(4)] as Lane;
          const { grants, waitMs } = await ledger.take(lane, 1 + pick(8));
          expect(grants.length > 0 ? waitMs === 0 : waitMs > 0).toBe(true);
          for (const grant of grants) {
            const fate = pick(20);
            if (fate === 0) {
              await ledger.release([grant]);
              continue;
            }
            // The worst case first: a request without an answer may reach the server as late as the time-out allows.
            const request = { from: clock.now(), to: clock.now() + timeoutMs };
            sent.push(request);
            if (fate > 2) open.push({ ledger, grant, sent: request, due: clock.now() + pick(timeoutMs) });
          }
          await clock.advance(pick(3) === 0 ? Math.min(waitMs, 20 * MINUTE) : pick(2 * MINUTE));
          for (const request of open.filter(({ due }) => due <= clock.now())) {
            open.splice(open.indexOf(request), 1);
            // The clock may have passed the time-out in one step; a client would have given up.
            if (clock.now() > request.sent.to) continue;
            request.sent.to = clock.now();
            await request.ledger.settle(request.grant, {
              ...SETTLED,
              ...(pick(4) === 0 ? { remaining: pick(limit) } : {}),
            });
          }
        }
        expect(sent.length).toBeGreaterThan(limit);
        expect(fullestWindow(sent)).toBeLessThanOrEqual(limit);
      } finally {
        await Promise.all(processes.map(process => process.close()));
      }
    });
  },
);

test('a saturated source uses at least 99% of its limit, all lanes together', async () => {
  await withLedger(async (ledger, clock) => {
    const sent: number[] = [];
    const start = clock.now();
    const open: { grant: Grant; due: number }[] = [];
    while (clock.now() < start + 3 * HOUR) {
      let wait = HOUR;
      for (const lane of ['verify', 'backfill', 'live'] as const) {
        const { grants, waitMs } = await ledger.take(lane, 4 - Math.min(3, open.length));
        for (const grant of grants) {
          sent.push(clock.now());
          open.push({ grant, due: clock.now() + 2 * SECOND });
        }
        wait = Math.min(wait, grants.length > 0 ? 1 : waitMs);
      }
      await clock.advance(Math.min(wait, ...open.map(({ due }) => due - clock.now()).filter(ms => ms > 0)));
      for (const request of open.filter(({ due }) => due <= clock.now())) {
        open.splice(open.indexOf(request), 1);
        await ledger.settle(request.grant, SETTLED);
      }
    }
    const later = sent.filter(at => at >= start + HOUR && at < start + 3 * HOUR);
    expect(later.length).toBeGreaterThanOrEqual(2 * 100 * 0.99);
    expect(fullestWindow(sent.map(at => ({ from: at, to: at })))).toBeLessThanOrEqual(100);
  });
});

test('sleeping until the wait is over yields a grant', async () => {
  await withLedger(async (ledger, clock) => {
    const until = async (lane: Lane): Promise<number> => {
      for (;;) {
        const { grants, waitMs } = await ledger.take(lane, 1);
        if (grants.length > 0) return clock.now();
        await clock.sleep(waitMs);
      }
    };
    const start = clock.now();
    await ledger.take('live', 100);
    // Both sleep at once; each wakes at its own moment.
    const [live, backfill] = await Promise.all([until('live'), until('backfill')]);
    expect([live - start, backfill - start]).toEqual([HOUR + 30 * SECOND, HOUR + 30 * SECOND]);
    const stop = new AbortController();
    const long = clock.sleep(HOUR, stop.signal);
    stop.abort();
    await expect(long).rejects.toMatchObject({ kind: 'stopped' });
    expect(clock.sleepers).toBe(0);
  });
});

/** What the table says of requests, in the order of their grants. */
const recorded = async (database: Database) =>
  (await database.query('select status from sluice.requests order by id')).rows.map(({ status }) => status);

test('an answer that tells nothing new is recorded with the next take, within seconds, or on request', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const ledger = ledgerOn(database, { mayWait: true, clock });
    const settleNext = async (settlement = {}) => {
      const [grant] = (await ledger.take('live', 1)).grants as [Grant];
      await ledger.settle(grant, { ...SETTLED, ...settlement });
    };
    await settleNext({ remaining: 99 });
    expect(await recorded(database)).toEqual([null]);
    await settleNext();
    expect(await recorded(database)).toEqual([200, null]);
    await clock.advance(RECORDED_WITHIN_MS);
    await ledger.flush();
    expect(await recorded(database)).toEqual([200, 200]);
    await settleNext();
    await ledger.flush();
    expect(await recorded(database)).toEqual([200, 200, 200]);
    // It counts from its answer on, not from when it was recorded.
    const { rows } = await database.query(
      'select distinct extract(epoch from counts_until - granted_at)::int as s from sluice.requests',
    );
    expect(rows).toEqual([{ s: 3600 }]);
    // What lowers the limit waits for nothing.
    await settleNext({ remaining: 40 });
    expect(await recorded(database)).toEqual([200, 200, 200, 200]);
    expect(await ledger.usage()).toMatchObject({ free: 40 });
  });
});

test('an answer that waited takes back nothing that another process has learnt meanwhile', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const [ours, other] = [ledgerOn(database, { mayWait: true, clock }), ledgerOn(database)];
    const [old] = (await ours.take('live', 1)).grants as [Grant];
    await ours.settle(old, { ...SETTLED, remaining: 99, limit: 100 });
    const [newer] = (await other.take('live', 1)).grants as [Grant];
    await other.settle(newer, { ...SETTLED, remaining: 10, limit: 50 });
    const known = await other.usage();
    expect(known).toMatchObject({ limit: 50, withheld: 38, free: 10 });
    const taken = await ours.take('live', 30);
    expect(taken.grants).toHaveLength(10);
    expect(await other.usage()).toMatchObject({ limit: 50, withheld: 38, free: 0 });
    expect((await recorded(database)).slice(0, 2)).toEqual([200, 200]);
  });
});

test('an answer that could not be recorded waits for the next statement', async () => {
  await withDatabase(async (database, given) => {
    const clock = await createVirtualClock(database);
    let isDown = false;
    const pool = await given.open();
    const query: Database['query'] = (...given) => (isDown ? Promise.reject(new Error('down')) : pool.query(...given));
    const ledger = ledgerOn({ ...pool, query }, { mayWait: true, clock });
    const [grant] = (await ledger.take('live', 1)).grants as [Grant];
    await ledger.settle(grant, SETTLED);
    isDown = true;
    await expect(ledger.take('live', 1)).rejects.toThrow('down');
    await expect(ledger.flush()).rejects.toThrow('down');
    isDown = false;
    await ledger.take('live', 1);
    expect(await recorded(database)).toEqual([200, null]);
    await ledger.flush();
    await pool.close();
  });
});
