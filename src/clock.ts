import { setTimeout as delay } from 'node:timers/promises';
import { SluiceError } from './errors.ts';

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/**
 * The source of time in the process, replaceable so that tests can let hours pass at once. Stored times and decisions use
 * `sluice.now()` in Postgres; `now()` serves only what is never stored: progress, HTTP dates, log lines.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since some moment, whatever happens to the machine's time: differences tell how long something took. */
  elapsed(): number;
  /** Resolves after `ms`; rejects with the kind `stopped` as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  // Node fires at once for delays above 2^31-1 ms, so a longer sleep ends early and the caller sleeps again.
  sleep: (ms, signal) =>
    delay(Math.min(Math.max(ms, 0), 2 ** 31 - 1), undefined, { signal }).catch(() => Promise.reject(stopped(signal))),
};

/** The signal's abort reason if it is a SluiceError, else the kind `stopped`. */
export function stopped(signal: AbortSignal | undefined): SluiceError {
  return signal?.reason instanceof SluiceError ? signal.reason : new SluiceError('stopped', 'Stopped on request.');
}

/** Epoch milliseconds of a `timestamptz` as Postgres writes it in UTC: `2026-01-15 10:00:05.123+00`. */
export const stampMs = (stamp: string): number => Date.parse(stamp.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'));
