import { type Clock, HOUR, MINUTE } from '../clock.ts';
import type { Budget, Grant, Lane } from './budget.ts';

/**
 * A request ledger of one process, by its clock: a request counts from its grant until one window after it was settled.
 * Live may use the whole limit; the other lanes leave it 1%, at least one request where the limit is 50 or more, and burst only while
 * more than half of the limit is free: after that they get a request every `windowMs / limit`, so that live never waits long.
 * It forgets at the end of the process, so a service uses the warehouse's ledger instead.
 */
export function createMemoryBudget(options: { clock: Clock; limit: number; windowMs?: number }): Budget {
  const { clock, windowMs = HOUR } = options;
  /** When each counted request stops counting; `Infinity` while it is in flight. */
  const counted = new Map<string, number>();
  let limit = options.limit;
  let blockedUntilMs = 0;
  /** When a lane below live was last granted something. */
  let pacedMs = Number.NEGATIVE_INFINITY;
  let issued = 0;
  let lastMicros = 0;

  function grant(): Grant {
    const id = String(++issued);
    counted.set(id, Number.POSITIVE_INFINITY);
    // Strictly increasing, as the order of grants decides which of two readings is newer.
    lastMicros = Math.max(Math.round(clock.now() * 1000), lastMicros + 1);
    return { id, grantedAt: timestamptz(lastMicros) };
  }

  function forgetPast(nowMs: number): void {
    for (const [id, untilMs] of counted) if (untilMs <= nowMs) counted.delete(id);
  }

  /** What lies farther ahead than it can was noted before the clock was put back, and holds from now for as long as it may. */
  function putBack(nowMs: number): void {
    for (const [id, untilMs] of counted)
      if (untilMs > nowMs + windowMs && untilMs < Number.POSITIVE_INFINITY) counted.set(id, nowMs + windowMs);
    blockedUntilMs = Math.min(blockedUntilMs, nowMs + Math.max(windowMs, 10 * MINUTE));
    pacedMs = Math.min(pacedMs, nowMs);
  }

  /** One in flight can be free a window from now at the earliest. */
  function freeAfterMs(nowMs: number, capacity: number): number {
    const moments = [...counted.values()].map(untilMs => Math.min(untilMs, nowMs + windowMs)).sort((a, b) => a - b);
    return (moments[moments.length - Math.max(capacity, 1)] ?? nowMs + windowMs) - nowMs;
  }

  return {
    take(lane, want) {
      const nowMs = clock.now();
      forgetPast(nowMs);
      putBack(nowMs);
      const capacity = limit - reserve(lane, limit);
      const left = capacity - counted.size;
      const blockedMs = blockedUntilMs - nowMs;
      if (blockedMs > 0 || left <= 0) {
        const fullMs = left <= 0 ? freeAfterMs(nowMs, capacity) : 0;
        return Promise.resolve({ grants: [], waitMs: Math.max(1, blockedMs, fullMs) });
      }
      const burst = lane === 'live' ? left : Math.ceil(limit / 2) - counted.size;
      const pauseMs = burst > 0 ? 0 : Math.ceil(pacedMs + windowMs / limit - nowMs);
      if (pauseMs > 0) return Promise.resolve({ grants: [], waitMs: pauseMs, paced: true });
      if (lane !== 'live') pacedMs = nowMs;
      const grants = Array.from({ length: Math.min(want, left, Math.max(burst, 1)) }, grant);
      return Promise.resolve({ grants, waitMs: 0 });
    },
    settle(granted, settlement) {
      const nowMs = clock.now();
      forgetPast(nowMs);
      counted.set(granted.id, nowMs + windowMs);
      if (settlement.limit !== undefined) limit = Math.min(options.limit, settlement.limit);
      if (settlement.blockedForMs !== undefined) {
        blockedUntilMs = Math.max(blockedUntilMs, nowMs + settlement.blockedForMs);
      }
      // Other tools on the same key: what the server counted beyond us counts here too, for one window.
      const elsewhere = settlement.remaining === undefined ? 0 : limit - counted.size - settlement.remaining;
      for (let n = 0; n < elsewhere; n++) counted.set(`elsewhere ${++issued}`, nowMs + windowMs);
      return Promise.resolve();
    },
    release(grants) {
      for (const { id } of grants) counted.delete(id);
      return Promise.resolve();
    },
  };
}

function reserve(lane: Lane, limit: number): number {
  if (lane === 'live' || limit < 50) return 0;
  return Math.max(1, Math.floor(limit / 100));
}

function timestamptz(micros: number): string {
  const iso = new Date(Math.floor(micros / 1000)).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 23)}${String(micros % 1000).padStart(3, '0')}+00`;
}
