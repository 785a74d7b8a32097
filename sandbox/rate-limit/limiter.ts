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
  /** The verdict on a request that is not counted. */
  look(now: number): Verdict;
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
  const forgetPast = (now: number) => {
    while (head < counted.length && (counted[head] as number) <= now - windowMs) head += 1;
    if (head > 4096) {
      counted = counted.slice(head);
      head = 0;
    }
    return counted.length - head < limit;
  };
  const verdict = (now: number, allowed: boolean): Verdict => {
    const used = counted.length - head;
    // If rejections count, more than one request must leave the window before there is room again.
    const leaving = counted[head + Math.max(0, used - limit)] ?? now;
    return { allowed, remaining: Math.max(0, limit - used), resetAt: leaving + windowMs };
  };
  return {
    take(now) {
      const allowed = forgetPast(now);
      if (allowed || rejectedCount) counted.push(now);
      return verdict(now, allowed);
    },
    look: now => verdict(now, forgetPast(now)),
  };
}

function createFixedWindow({ limit, windowMs, rejectedCount }: LimiterOptions): Limiter {
  let window = -1;
  let used = 0;
  const forgetPast = (now: number) => {
    const current = Math.floor(now / windowMs);
    if (current !== window) used = 0;
    window = current;
    return used < limit;
  };
  const verdict = (allowed: boolean): Verdict => {
    return { allowed, remaining: Math.max(0, limit - used), resetAt: (window + 1) * windowMs };
  };
  return {
    take(now) {
      const allowed = forgetPast(now);
      if (allowed || rejectedCount) used += 1;
      return verdict(allowed);
    },
    look: now => verdict(forgetPast(now)),
  };
}

function createTokenBucket({ limit, windowMs, rejectedCount }: LimiterOptions): Limiter {
  const perMs = limit / windowMs;
  let tokens = limit;
  let filledAt: number | undefined;
  const fill = (now: number) => {
    // A backward clock step refills nothing.
    tokens = Math.min(limit, tokens + Math.max(0, now - (filledAt ?? now)) * perMs);
    filledAt = now;
    return tokens >= 1;
  };
  const verdict = (now: number, allowed: boolean): Verdict => {
    const resetAt = now + Math.ceil((Math.floor(Math.max(0, tokens)) + 1 - tokens) / perMs);
    return { allowed, remaining: Math.max(0, Math.floor(tokens)), resetAt };
  };
  return {
    take(now) {
      const allowed = fill(now);
      if (allowed || rejectedCount) tokens = Math.max(allowed ? 0 : -limit, tokens - 1);
      return verdict(now, allowed);
    },
    look: now => verdict(now, fill(now)),
  };
}
