import { type Clock, stopped } from '../../src/clock.ts';

/** A clock that stands still until told. `autoClock` instead jumps ahead at every sleep, and remembers how long each was. */
export interface ManualClock extends Clock {
  /** Lets time pass and wakes who is due. */
  advance(ms: number): void;
  /** Resolves with the lengths of the present sleeps as soon as there are `count`. */
  sleepers(count?: number): Promise<number[]>;
}

export function manualClock(startMs = Date.UTC(2026, 0, 15, 10)): ManualClock {
  let nowMs = startMs;
  const sleeping = new Set<{ ms: number; dueMs: number; wake: () => void }>();
  const watchers = new Set<() => void>();
  return {
    now: () => nowMs,
    elapsed: () => nowMs,
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(stopped(signal));
        const sleeper = {
          ms,
          dueMs: nowMs + ms,
          wake() {
            sleeping.delete(sleeper);
            signal?.removeEventListener('abort', onAbort);
            resolve();
          },
        };
        const onAbort = () => {
          sleeping.delete(sleeper);
          reject(stopped(signal));
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        sleeping.add(sleeper);
        for (const watcher of watchers) watcher();
      });
    },
    advance(ms) {
      nowMs += ms;
      for (const sleeper of sleeping) if (sleeper.dueMs <= nowMs) sleeper.wake();
    },
    sleepers(count = 1) {
      return new Promise(resolve => {
        const look = () => {
          if (sleeping.size < count) return;
          watchers.delete(look);
          resolve([...sleeping].map(({ ms }) => ms));
        };
        watchers.add(look);
        look();
      });
    },
  };
}

export function autoClock(startMs = Date.UTC(2026, 0, 15, 10)): Clock & { readonly slept: number[] } {
  let nowMs = startMs;
  const slept: number[] = [];
  return {
    slept,
    now: () => nowMs,
    elapsed: () => nowMs,
    async sleep(ms, signal) {
      if (signal?.aborted) throw stopped(signal);
      slept.push(ms);
      nowMs += ms;
      await new Promise(resolve => setImmediate(resolve));
    },
  };
}
