import { MINUTE, SECOND } from '../../src/clock.ts';
import type { Variants } from '../variants/variants.ts';
import { createLimiter, type Verdict } from './limiter.ts';

/** 2020-01-01. */
const STALE_SECONDS = 1_577_836_800;
/** Another tool sends one request for so many of ours. */
const SHARED_EVERY = 4;

/** The rate limit of the key, as its variants define it. */
export interface RateLimit {
  /** Counts a request and decides whether it is allowed. */
  admit(now: number): Verdict;
  /** The verdict on a request without a valid key, which is not counted. */
  admitUncounted(now: number): Verdict;
  /** The verdict on a request beyond the concurrency: counted if rejections count. */
  admitCrowded(now: number): Verdict;
  /** Counts requests of another tool with the same key. */
  spend(count: number, now: number): void;
  headers(verdict: Verdict, now: number, status: number): Record<string, string>;
}

/** `limit` 0 switches the limit and its headers off. */
export function createRateLimit(options: { limit: number; windowMs: number; variants: () => Variants }): RateLimit {
  const { variants } = options;
  const isShort = variants()['rate-length'] === 'minute' && options.windowMs > MINUTE;
  const limit = isShort ? Math.ceil(options.limit / 10) : options.limit;
  const windowMs = isShort ? MINUTE : options.windowMs;
  const rejectedCount = variants()['rejected-count'] === 'yes';
  const limiter = createLimiter(variants()['rate-window'], { limit, windowMs, rejectedCount });
  const unlimited = (now: number) => ({ allowed: true, remaining: limit, resetAt: now + windowMs });
  let admitted = 0;

  return {
    admit(now) {
      if (limit === 0) return unlimited(now);
      admitted += 1;
      if (variants()['shared-key'] === 'yes' && admitted % SHARED_EVERY === 0) limiter.take(now);
      return limiter.take(now);
    },
    admitUncounted: unlimited,
    admitCrowded(now) {
      if (limit === 0) return unlimited(now);
      return rejectedCount ? limiter.take(now) : limiter.look(now);
    },
    spend(count, now) {
      for (let index = 0; index < count && limit > 0; index += 1) limiter.take(now);
    },
    headers(verdict, now, status) {
      if (limit === 0 || (status !== 429 && variants()['rate-headers'] === 'only-429')) return {};
      const headers: Record<string, string> = {
        'X-RateLimit-Limit': String(limit),
        'X-RateLimit-Remaining': String(verdict.remaining),
        'X-RateLimit-Reset': resetText(verdict.resetAt, now, variants()['rate-reset']),
      };
      const retry = verdict.allowed ? undefined : retryText(verdict.resetAt, now, variants()['retry-after']);
      if (retry !== undefined) headers['Retry-After'] = retry;
      return headers;
    },
  };
}

function resetText(resetAt: number, now: number, style: Variants['rate-reset']): string {
  switch (style) {
    case 'epoch-s':
      return String(Math.ceil(resetAt / SECOND));
    case 'epoch-ms':
      return String(Math.ceil(resetAt));
    case 'seconds':
      return secondsRemaining(resetAt, now);
    case 'http-date':
      return httpDate(resetAt);
    case 'stale':
      return String(STALE_SECONDS);
  }
}

/** The value of Retry-After; undefined if it is not sent. */
export function retryText(resetAt: number, now: number, style: Variants['retry-after']): string | undefined {
  if (style === 'absent') return undefined;
  return style === 'seconds' ? secondsRemaining(resetAt, now) : httpDate(resetAt);
}

function secondsRemaining(resetAt: number, now: number): string {
  return String(Math.max(1, Math.ceil((resetAt - now) / SECOND)));
}

/** HTTP dates have whole seconds. Rounded up, because a client that obeys a rounded-down date comes too early. */
function httpDate(at: number): string {
  return new Date(Math.ceil(at / SECOND) * SECOND).toUTCString();
}
