import { type Clock, HOUR } from '../clock.ts';
import type { Budget, Grant } from './budget.ts';
import {
  decide,
  deferred,
  type Facts,
  longestHoldMs,
  observe,
  perWindow,
  serverWindowAfter,
  untilFreeMs,
  unusedAfter,
} from './policy.ts';

/** What is known about the key. Moments are milliseconds since the epoch. */
interface Key {
  readonly limit: number;
  readonly windowMs: number;
  /** The requests that count, by the id of their grant. */
  readonly requests: Map<string, CountedRequest>;
  withheld: { count: number; untilMs: number };
  serverLimit: { limit: number; untilMs: number };
  serverWindowMs: number | null;
  blockedUntilMs: number;
  /** When a lane below live was last granted a request. */
  pacedMs: number;
  /** Number of the newest request that was answered with a status other than 429. */
  lastAccepted: number;
}

interface CountedRequest {
  /** In the order of the grants. */
  readonly number: number;
  readonly grantedMs: number;
  /** When it was answered or given up. */
  readonly settledMs: number | null;
  readonly status: number | null;
  /** `Infinity` while it is in flight. */
  readonly countsUntilMs: number;
}

/**
 * The budget of one process, by its clock. It follows the same policy as the ledger in Postgres, except that a grant that is neither
 * settled nor released counts forever, and that everything is forgotten when the process ends.
 */
export function createMemoryBudget(options: { clock: Clock; limit: number; windowMs?: number }): Budget {
  const { clock } = options;
  const key = emptyKey(options.limit, options.windowMs ?? HOUR);
  let issued = 0;
  let lastMicros = 0;

  function grant(nowMs: number, unused: number): Grant {
    const number = ++issued;
    const countsUntilMs = Number.POSITIVE_INFINITY;
    key.requests.set(String(number), { number, grantedMs: nowMs, settledMs: null, status: null, countsUntilMs });
    // Strictly increasing: the order of grants decides which of two readings is newer.
    lastMicros = Math.max(Math.round(nowMs * 1000), lastMicros + 1);
    return { id: String(number), grantedAt: timestamptz(lastMicros), unused };
  }

  return {
    take(lane, want, kept) {
      const nowMs = clock.now();
      forgetPast(key, nowMs);
      clampToClock(key, nowMs);
      const facts = factsAt(key, nowMs);
      const decision = decide(facts, lane, want, kept);
      if (decision.kind === 'wait') return Promise.resolve(deferred(decision.waitMs, decision.paced));
      if (decision.kind === 'full')
        return Promise.resolve(
          deferred(untilFreeMs(decision.of ?? facts, nextFreeMs(key, nowMs, decision.missing, decision.of?.windowMs))),
        );
      if (lane !== 'live') key.pacedMs = nowMs;
      const unused = unusedAfter(facts, decision.count);
      return Promise.resolve({ grants: Array.from({ length: decision.count }, () => grant(nowMs, unused)), waitMs: 0 });
    },
    settle({ id }, settlement) {
      const nowMs = clock.now();
      forgetPast(key, nowMs);
      const { status } = settlement;
      const request = key.requests.get(id);
      if (request?.settledMs === null) {
        key.requests.set(id, { ...request, settledMs: nowMs, status, countsUntilMs: nowMs + key.windowMs });
        if (status !== null && status !== 429) key.lastAccepted = Math.max(key.lastAccepted, request.number);
      }
      key.serverWindowMs = serverWindowAfter(
        { windowMs: key.serverWindowMs, limit: key.serverLimit.limit < key.limit ? key.serverLimit.limit : null },
        settlement,
      );
      const { limit, windowMs } = key;
      const overMs = key.serverWindowMs ?? windowMs;
      const seen = observe(settlement, {
        limit,
        windowMs,
        used: countOver(key, nowMs, overMs),
        refusedForMs: refusedForMs(key, nowMs),
      });
      const untilMs = nowMs + windowMs;
      if (seen.withheld !== undefined) key.withheld = { count: seen.withheld, untilMs: nowMs + overMs };
      if (seen.serverLimit !== undefined) key.serverLimit = { limit: seen.serverLimit ?? limit, untilMs };
      if (seen.blockedMs !== undefined) key.blockedUntilMs = Math.max(key.blockedUntilMs, nowMs + seen.blockedMs);
      return Promise.resolve();
    },
    release(grants) {
      for (const { id } of grants) if (key.requests.get(id)?.settledMs === null) key.requests.delete(id);
      return Promise.resolve();
    },
  };
}

const emptyKey = (limit: number, windowMs: number): Key => ({
  limit,
  windowMs,
  requests: new Map(),
  withheld: { count: 0, untilMs: 0 },
  serverLimit: { limit, untilMs: 0 },
  serverWindowMs: null,
  blockedUntilMs: 0,
  pacedMs: Number.NEGATIVE_INFINITY,
  lastAccepted: 0,
});

function forgetPast({ requests }: Key, nowMs: number): void {
  for (const [id, { countsUntilMs }] of requests) if (countsUntilMs <= nowMs) requests.delete(id);
}

/** An end that lies further ahead than any can dates from before the clock was set back: it is counted from now. */
function clampToClock(key: Key, nowMs: number): void {
  const windowEndMs = nowMs + key.windowMs;
  for (const [id, request] of key.requests)
    if (request.settledMs !== null && request.countsUntilMs > windowEndMs)
      key.requests.set(id, { ...request, countsUntilMs: windowEndMs });
  const longestMs = nowMs + longestHoldMs(key.windowMs);
  key.withheld.untilMs = Math.min(key.withheld.untilMs, longestMs);
  key.serverLimit.untilMs = Math.min(key.serverLimit.untilMs, longestMs);
  key.blockedUntilMs = Math.min(key.blockedUntilMs, longestMs);
  if (key.pacedMs > nowMs) key.pacedMs = Number.NEGATIVE_INFINITY;
}

/** Requests that count over a window of `overMs`, our own or a shorter one. */
const countOver = ({ requests, windowMs }: Key, nowMs: number, overMs: number): number =>
  [...requests.values()].filter(({ countsUntilMs }) => countsUntilMs > nowMs + windowMs - overMs).length;

function factsAt(key: Key, nowMs: number): Facts {
  const withheldMs = key.withheld.count > 0 ? key.withheld.untilMs - nowMs : 0;
  const serverLimitMs = key.serverLimit.limit < key.limit ? key.serverLimit.untilMs - nowMs : 0;
  const lapses = [withheldMs, serverLimitMs].filter(ms => ms > 0);
  const overMs = serverLimitMs > 0 ? key.serverWindowMs : null;
  const withheld = withheldMs > 0 ? key.withheld.count : 0;
  const serverLimit = key.serverWindowMs
    ? perWindow(key.serverLimit.limit, key.serverWindowMs, key.windowMs)
    : key.serverLimit.limit;
  return {
    windowMs: key.windowMs,
    capacity: serverLimitMs > 0 ? Math.min(key.limit, serverLimit) : key.limit,
    withheld: overMs === null ? withheld : 0,
    used: key.requests.size,
    shorter:
      overMs === null
        ? undefined
        : {
            windowMs: overMs,
            capacity: key.serverLimit.limit,
            withheld,
            used: countOver(key, nowMs, overMs),
            loweredMs: withheldMs > 0 ? withheldMs : undefined,
          },
    blockedMs: Math.max(0, key.blockedUntilMs - nowMs),
    sincePacedMs: nowMs - key.pacedMs,
    loweredMs: lapses.length > 0 ? Math.min(...lapses) : undefined,
  };
}

/** Time until `missing` requests have stopped counting. One in flight may be settled now, and would then count for one more window. */
function nextFreeMs(
  { requests, windowMs }: Key,
  nowMs: number,
  missing: number,
  overMs: number = windowMs,
): number | undefined {
  const ends = [...requests.values()]
    .map(({ countsUntilMs }) => Math.min(countsUntilMs - windowMs + overMs - nowMs, overMs))
    .filter(ms => ms > 0);
  return ends.sort((a, b) => a - b)[missing - 1];
}

/** How long ago the first 429 came, among the requests of the last window, after which every answer was one. */
function refusedForMs({ requests, lastAccepted, windowMs }: Key, nowMs: number): number {
  const refused = [...requests.values()].filter(
    ({ number, status, grantedMs }) => status === 429 && number > lastAccepted && grantedMs > nowMs - windowMs,
  );
  return Math.max(0, ...refused.map(({ settledMs }) => nowMs - (settledMs ?? nowMs)));
}

function timestamptz(micros: number): string {
  const iso = new Date(Math.floor(micros / 1000)).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 23)}${String(micros % 1000).padStart(3, '0')}+00`;
}
