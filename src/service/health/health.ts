import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { runBeside } from '../../any-signal.ts';
import { type Clock, MINUTE, SECOND } from '../../clock.ts';
import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { sharedRun } from '../shared-run.ts';

/** A watchdog over the sync loops of the process. */
export type Pulse = ReturnType<typeof createPulse>;

/**
 * `limitMs`: the longest silence allowed; a request with all its retries must fit. `now` is in milliseconds and must be monotonic,
 * or a clock step would make a healthy process restart.
 */
export function createPulse(limitMs: number, now: () => number = () => performance.now()) {
  const beats = new Map<string, number>();
  const failing = new Map<string, { since: number; last: number }>();
  return {
    /** `loop` is alive: it found out what is due, committed something, or waits for the request limit. */
    beat(loop: string): void {
      beats.set(loop, now());
      failing.delete(loop);
    },
    /** `loop` has nothing to do, or another process does it: its silence means nothing until its next beat. */
    rest: (loop: string) => void beats.delete(loop),
    /** `loop` could not use the database. A process that cannot for long may have lost its address, which a restart finds again. */
    fail(loop: string): void {
      failing.set(loop, { since: failing.get(loop)?.since ?? now(), last: now() });
    },
    /** The loops that have been silent for too long, or failed for as long at every attempt. */
    stalled(): string[] {
      const silent = [...beats].filter(([, at]) => now() - at > limitMs);
      // Up to the last attempt: the next one may wait for the turns of other sources.
      const failed = [...failing].filter(([, { since, last }]) => last - since > limitMs);
      return [...new Set([...silent, ...failed].map(([loop]) => loop))];
    },
  };
}

const CHECK_EVERY_MS = 5 * SECOND;
const LONGEST_MS = SECOND;
const NANOSECONDS = 1e6;

/**
 * Warns when one piece of work kept the process busy for longer than a second, at most once a minute: meanwhile it served no other source
 * and answered no probe. Returns what ends that.
 */
export function watchEventLoop(options: {
  clock: Clock;
  log: Log;
  delays?: Pick<IntervalHistogram, 'enable' | 'disable' | 'reset' | 'max'>;
}): () => Promise<void> {
  const { clock, log, delays = monitorEventLoopDelay({ resolution: 100 }) } = options;
  return runBeside(async over => {
    delays.enable();
    for (let pauseMs = CHECK_EVERY_MS; ; ) {
      await clock.sleep(pauseMs, over).catch(() => undefined);
      if (over.aborted) break;
      const blockedMs = Math.round(delays.max / NANOSECONDS);
      delays.reset();
      const isTooLong = blockedMs > LONGEST_MS;
      if (isTooLong)
        log.warn({ blockedMs }, 'the process was busy with one piece of work; other sources and probes had to wait');
      pauseMs = isTooLong ? MINUTE : CHECK_EVERY_MS;
    }
    delays.disable();
  });
}

/** Below the timeout of common probes. */
const TIMEOUT_MS = 4 * SECOND;

/**
 * Resolves with why the service is not ready, or null: the database answers and holds the tables this version needs. Concurrent
 * probes share one check. Anybody may read the reason, so errors, which name the database, go to the log.
 */
export function createReadiness(options: {
  database: Database;
  pending: () => Promise<readonly string[]>;
  clock: Clock;
  log: Log;
}): () => Promise<string | null> {
  const { database, pending, clock, log } = options;
  let logged: string | null = null;
  const check = sharedRun(async (): Promise<string | null> => {
    try {
      await database.query('select 1');
      const names = await pending();
      logged = null;
      return names.length === 0 ? null : `Pending migrations: ${names.join(', ')}. Next: sluice migrate`;
    } catch (error) {
      const reason = explain(error);
      // Probes come every few seconds.
      if (reason !== logged) log.warn({ reason }, 'not ready: the database cannot be used');
      logged = reason;
      return 'The database cannot be used. The log says why.';
    }
  });
  return async () => {
    const over = new AbortController();
    const late = clock.sleep(TIMEOUT_MS, over.signal).then(
      () => 'The database did not answer in time.',
      () => null,
    );
    try {
      return await Promise.race([check(), late]);
    } finally {
      over.abort();
    }
  };
}
