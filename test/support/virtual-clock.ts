import { setTimeout as realDelay } from 'node:timers/promises';
import { type Clock, stopped } from '../../src/clock.ts';
import type { Database } from '../../src/warehouse/database/database.ts';

export interface VirtualClock extends Clock {
  /** Moves time forward by `ms`, stopping at every sleeper so that each wakes at its own time. */
  advance(ms: number): Promise<void>;
  /** Puts `sluice.now()` back by `ms`; this clock, as that of another machine, goes on. */
  putBack(ms: number): Promise<void>;
  /** Number of current sleepers. */
  readonly sleepers: number;
}

interface Sleeper {
  readonly at: number;
  wake(): void;
  fail(error: unknown): void;
}

/**
 * A clock on which hours pass at once. `sluice.now()` of this database reads a row (`sluice.test_clock`). Once nothing else has
 * happened for `quietMs` of real time (default 2), a sleep moves that row to the time of the earliest sleeper. `quietMs` affects
 * the speed of a test and the virtual time that passes during real work such as an HTTP request, never its correctness.
 * All clocks on one database share the row, across processes. It only moves forward.
 */
export async function createVirtualClock(
  database: Database,
  startIso = '2026-01-15T10:00:00.000Z',
  options: {
    quietMs?: number;
    /** True during other work that time must not overtake, such as work on another pool. */
    busy?: () => boolean;
  } = {},
): Promise<VirtualClock> {
  const quietMs = options.quietMs ?? 2;
  await database.query(
    `create table if not exists sluice.test_clock (now timestamptz not null, behind interval not null default 'PT0S')`,
  );
  await database.query('insert into sluice.test_clock select $1 where not exists (select from sluice.test_clock)', [
    startIso,
  ]);
  // Volatile and not inlined, so that every call sees the current row, even inside a longer transaction.
  await database.query(
    `create or replace function sluice.now() returns timestamptz language plpgsql volatile
     as 'begin return (select now - behind from sluice.test_clock); end'`,
  );

  let now = 0;
  let registrations = 0;
  let pumping = false;
  let moved: Promise<void> = moveTo(0);
  const queue: Sleeper[] = [];

  async function moveTo(ms: number): Promise<void> {
    const { rows } = await database.query<{ ms: string }>(
      `update sluice.test_clock set now = greatest(now, to_timestamp($1::numeric / 1000))
       returning floor(extract(epoch from now) * 1000) as ms`,
      [ms],
    );
    now = Math.max(now, Number(rows[0]?.ms));
  }

  /** Moves time one step after the other and wakes due sleepers in order. */
  function move(ms: number): Promise<void> {
    moved = moved.then(async () => {
      await moveTo(ms);
      for (const sleeper of queue.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at)) {
        queue.splice(queue.indexOf(sleeper), 1);
        sleeper.wake();
      }
    });
    return moved;
  }

  const earliest = () => Math.min(...queue.map(({ at }) => at));

  async function quiet(): Promise<void> {
    const patience = performance.now() + 1000;
    for (;;) {
      const before = registrations;
      await realDelay(quietMs);
      const { totalCount, idleCount, waitingCount } = database.pool;
      const busy = totalCount > idleCount || waitingCount > 0 || (options.busy?.() ?? false);
      // A sleeper that holds a connection would wait for itself, so connections count as busy for a second at most.
      if (registrations === before && (!busy || performance.now() > patience)) return;
    }
  }

  async function pump(): Promise<void> {
    if (pumping) return;
    pumping = true;
    try {
      while (queue.length > 0) {
        await quiet();
        if (queue.length > 0) await move(earliest());
      }
    } catch (error) {
      for (const sleeper of queue.splice(0)) sleeper.fail(error);
    } finally {
      pumping = false;
    }
  }

  await moved;
  return {
    now: () => now,
    elapsed: () => now,
    get sleepers() {
      return queue.length;
    },
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(stopped(signal));
        const onAbort = () => {
          if (queue.includes(sleeper)) queue.splice(queue.indexOf(sleeper), 1);
          reject(stopped(signal));
        };
        const sleeper: Sleeper = {
          at: now + Math.max(Math.ceil(ms), 0),
          wake() {
            signal?.removeEventListener('abort', onAbort);
            resolve();
          },
          fail: reject,
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        queue.push(sleeper);
        registrations++;
        void pump();
      });
    },
    async putBack(ms) {
      await database.query(`update sluice.test_clock set behind = behind + $1 * interval '1 millisecond'`, [ms]);
    },
    async advance(ms) {
      const target = now + ms;
      while (earliest() <= target) {
        await move(earliest());
        // A woken sleeper may sleep again before the target.
        await new Promise(resolve => setImmediate(resolve));
      }
      await move(target);
    },
  };
}
