import type { Variants } from '../variants/variants.ts';

export interface Verdict {
  allowed: boolean;
  remaining: number;
  /** When more requests are free than now, in milliseconds since the epoch. */
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
  if (kind === 'fixed') return createFixed(options);
  return kind === 'sliding' ? createSliding(options) : createBucket(options);
}

function createSliding({ limit, windowMs, rejectedCount }: LimiterOptions): Limiter {
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
      // The moment the window has room again: with rejections counted, more than one must leave it.
      const leaving = counted[head + Math.max(0, used - limit)] ?? now;
      return { allowed, remaining: Math.max(0, limit - used), resetAt: leaving + windowMs };
    },
  };
}

function createFixed({ limit, windowMs, rejectedCount }: LimiterOptions): Limiter {
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

function createBucket({ limit, windowMs, rejectedCount }: LimiterOptions): Limiter {
  const perMs = limit / windowMs;
  let tokens = limit;
  let filledAt: number | undefined;
  return {
    take(now) {
      // Whole tokens by counting from a fixed moment would drift on clock steps back; those refill nothing.
      tokens = Math.min(limit, tokens + Math.max(0, now - (filledAt ?? now)) * perMs);
      filledAt = now;
      const allowed = tokens >= 1;
      if (allowed || rejectedCount) tokens = Math.max(allowed ? 0 : -limit, tokens - 1);
      const resetAt = now + Math.ceil((Math.floor(Math.max(0, tokens)) + 1 - tokens) / perMs);
      return { allowed, remaining: Math.max(0, Math.floor(tokens)), resetAt };
    },
  };
}
