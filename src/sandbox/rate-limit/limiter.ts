import type { Variants } from '../variants/variants.ts';

export interface Verdict {
  allowed: boolean;
  remaining: number;
  /** When the next request becomes available, in milliseconds since the epoch. */
  resetAt: number;
}

/** Counts the requests of one key against its limit. */
export interface Limiter {
  take(now: number): Verdict;
}

export interface LimiterOptions {
  limit: number;
  windowMs: number;
  rejectedCount: boolean;
}

export function createLimiter(kind: Variants['rate-window'], options: LimiterOptions): Limiter {
  if (kind === 'fixed') return createFixedWindow(options);
  return kind === 'sliding' ? createSlidingWindow(options) : createTokenBucket(options);
}

function createSlidingWindow({ limit, windowMs, rejectedCount }: LimiterOptions): Limiter {
  let counted: number[] = [];
  let head = 0;
  return {
    take(now) {
      while (head < counted.length && (counted[head] as number) <= now - windowMs) head += 1;
      if (head > 4096) {
        counted = counted.slice(head);
        head = 0;
      }
      const allowed = counted.length - head < limit;
      if (allowed || rejectedCount) counted.push(now);
      const used = counted.length - head;
      // If rejections count, more than one request must leave the window before there is room again.
      const leaving = counted[head + Math.max(0, used - limit)] ?? now;
      return { allowed, remaining: Math.max(0, limit - used), resetAt: leaving + windowMs };
    },
  };
}

function createFixedWindow({ limit, windowMs, rejectedCount }: LimiterOptions): Limiter {
  let window = -1;
  let used = 0;
  return {
    take(now) {
      const current = Math.floor(now / windowMs);
      if (current !== window) used = 0;
      window = current;
      const allowed = used < limit;
      if (allowed || rejectedCount) used += 1;
      return { allowed, remaining: Math.max(0, limit - used), resetAt: (current + 1) * windowMs };
    },
  };
}

function createTokenBucket({ limit, windowMs, rejectedCount }: LimiterOptions): Limiter {
  const perMs = limit / windowMs;
  let tokens = limit;
  let filledAt: number | undefined;
  return {
    take(now) {
      // A backward clock step refills nothing.
      tokens = Math.min(limit, tokens + Math.max(0, now - (filledAt ?? now)) * perMs);
      filledAt = now;
      const allowed = tokens >= 1;
      if (allowed || rejectedCount) tokens = Math.max(allowed ? 0 : -limit, tokens - 1);
      const resetAt = now + Math.ceil((Math.floor(Math.max(0, tokens)) + 1 - tokens) / perMs);
      return { allowed, remaining: Math.max(0, Math.floor(tokens)), resetAt };
    },
  };
}
