import { SluiceError } from './errors.ts';

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/**
 * Where waiting comes from, so that tests can make hours pass in no time. Durable time (what is stored, and what decides)
 * is `sluice.now()` in Postgres; `now()` here serves only what is never stored: progress, a server's HTTP dates, log lines.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`; rejects with the kind `stopped` as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(stopped(signal));
      const onAbort = () => {
        clearTimeout(timer);
        reject(stopped(signal));
      };
      // Node fires at once for delays above 2^31-1 ms; a longer sleep is cut, and the caller asks again.
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
        Math.min(Math.max(ms, 0), 2 ** 31 - 1),
      );
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  },
};

/** The reason a signal was aborted with when it is one of ours, else a plain `stopped`. */
export function stopped(signal: AbortSignal | undefined): SluiceError {
  return signal?.reason instanceof SluiceError ? signal.reason : new SluiceError('stopped', 'Stopped on request.');
}
