import { type Clock, HOUR } from '../clock.ts';
import type { Budget, Grant } from './budget.ts';
import {
  decide,
  deferred,
  type Facts,
  leftToOthers,
  longestHoldMs,
  observe,
  perWindow,
  serverWindowAfter,
  untilFreeMs,
  unusedAfter,
} from './policy.ts';

/** A request that counts. Moments are milliseconds since the epoch. */
interface Counted {
  readonly grantedMs: number;
  /** When it was answered or given up; null while it is in flight. */
  settledMs: number | null;
  status: number | null;
}

/**
 * The budget of one process, by its clock, for whoever has no database. It follows `policy.ts`; a grant that is neither settled nor
 * released counts forever, and everything is forgotten when the process ends.
 */
export function createMemoryBudget(options: {
  clock: Clock;
  /** Requests per window, of which `reserve` are left to other programs. */
  limit: number;
  reserve?: () => number;
  windowMs?: number;
}): Budget {
  const { clock, limit, reserve = () => 0, windowMs = HOUR } = options;
  /** By the id and in the order of their grants. */
  const requests = new Map<string, Counted>();
  let withheld = { count: 0, untilMs: 0 };
  /** Its limit, while that is below ours, and over how long it counts, if that is known to be less than our window. */
  let server: { limit: number | null; untilMs: number; windowMs: number | null } = {
    limit: null,
    untilMs: 0,
    windowMs: null,
  };
  let blockedUntilMs = 0;
  let pacedMs = Number.NEGATIVE_INFINITY;
  let issued = 0;
  let lastMicros = 0;

  /** What lies further ahead than anything can dates from before the clock was set back: it is counted from now. */
  function clampToClock(nowMs: number): void {
    for (const request of requests.values())
      if (request.settledMs !== null) request.settledMs = Math.min(request.settledMs, nowMs);
    const longestMs = nowMs + longestHoldMs(windowMs);
    withheld.untilMs = Math.min(withheld.untilMs, longestMs);
    server.untilMs = Math.min(server.untilMs, longestMs);
    blockedUntilMs = Math.min(blockedUntilMs, longestMs);
    if (pacedMs > nowMs) pacedMs = Number.NEGATIVE_INFINITY;
  }

  /** For each request that counts in a window of `overMs`, our own or a shorter one, the time until it can have stopped counting. */
  function endings(nowMs: number, overMs: number): number[] {
    // One in flight may be settled now, and would then count for one more window.
    const ends = [...requests.values()].map(({ settledMs }) => Math.min((settledMs ?? nowMs) - nowMs, 0) + overMs);
    return ends.filter(ms => ms > 0).sort((a, b) => a - b);
  }

  function factsAt(nowMs: number): Facts {
    const withheldMs = withheld.count > 0 ? withheld.untilMs - nowMs : 0;
    const serverLimit = server.untilMs > nowMs ? server.limit : null;
    const overMs = serverLimit === null ? null : server.windowMs;
    const lapses = [withheldMs, serverLimit === null ? 0 : server.untilMs - nowMs].filter(ms => ms > 0);
    const count = withheldMs > 0 ? withheld.count : 0;
    const lowered = Math.min(limit, perWindow(serverLimit ?? limit, overMs ?? windowMs, windowMs));
    const facts = {
      windowMs,
      ...shareOf(lowered, overMs === null ? count : 0),
      used: requests.size,
      blockedMs: Math.max(0, blockedUntilMs - nowMs),
      sincePacedMs: nowMs - pacedMs,
      loweredMs: lapses.length > 0 ? Math.min(...lapses) : undefined,
    };
    if (overMs === null || serverLimit === null) return facts;
    const used = endings(nowMs, overMs).length;
    const loweredMs = withheldMs > 0 ? withheldMs : undefined;
    return { ...facts, shorter: { windowMs: overMs, ...shareOf(serverLimit, count), used, loweredMs } };
  }

  /** What is ours of a limit under which others sent `count`. */
  function shareOf(of: number, count: number): Pick<Facts, 'capacity' | 'withheld'> {
    const left = leftToOthers(of, { limit, reserve: reserve() });
    return { capacity: of - left, withheld: Math.max(count - left, 0) };
  }

  /** How long ago the first 429 came, among the requests of the last window, after which every answer was one. */
  function refusedForMs(nowMs: number): number {
    const all = [...requests.values()];
    const accepted = all.findLastIndex(({ status }) => status !== null && status !== 429);
    const refused = all
      .slice(accepted + 1)
      .filter(({ status, grantedMs }) => status === 429 && grantedMs > nowMs - windowMs);
    return Math.max(0, ...refused.map(({ settledMs }) => nowMs - (settledMs ?? nowMs)));
  }

  function forgetPast(nowMs: number): void {
    for (const [id, { settledMs }] of requests)
      if (settledMs !== null && settledMs + windowMs <= nowMs) requests.delete(id);
  }

  function grant(nowMs: number, unused: number): Grant {
    const id = String(++issued);
    requests.set(id, { grantedMs: nowMs, settledMs: null, status: null });
    // Strictly increasing: the order of grants decides which of two readings is newer.
    lastMicros = Math.max(Math.round(nowMs * 1000), lastMicros + 1);
    return { id, grantedAt: timestamptz(lastMicros), unused };
  }

  return {
    async take(lane, want, kept) {
      const nowMs = clock.now();
      forgetPast(nowMs);
      clampToClock(nowMs);
      const facts = factsAt(nowMs);
      const decision = decide(facts, lane, want, kept);
      if (decision.kind === 'wait') return deferred(decision.waitMs, decision.paced);
      if (decision.kind === 'full') {
        const window = decision.of ?? facts;
        return deferred(untilFreeMs(window, endings(nowMs, window.windowMs)[decision.missing - 1]));
      }
      if (lane !== 'live') pacedMs = nowMs;
      const unused = unusedAfter(facts, decision.count);
      return { grants: Array.from({ length: decision.count }, () => grant(nowMs, unused)), waitMs: 0 };
    },
    async settle({ id }, settlement) {
      const nowMs = clock.now();
      forgetPast(nowMs);
      const request = requests.get(id);
      if (request?.settledMs === null) {
        request.settledMs = nowMs;
        request.status = settlement.status;
      }
      server.windowMs = serverWindowAfter(server, settlement);
      const overMs = server.windowMs ?? windowMs;
      const used = endings(nowMs, overMs).length;
      const seen = observe(settlement, { limit, windowMs, used, refusedForMs: refusedForMs(nowMs) });
      if (seen.withheld !== undefined) withheld = { count: seen.withheld, untilMs: nowMs + overMs };
      if (seen.serverLimit !== undefined) server = { ...server, limit: seen.serverLimit, untilMs: nowMs + windowMs };
      if (seen.blockedMs !== undefined) blockedUntilMs = Math.max(blockedUntilMs, nowMs + seen.blockedMs);
    },
    flush: async () => undefined,
    async release(grants) {
      for (const { id } of grants) if (requests.get(id)?.settledMs === null) requests.delete(id);
    },
  };
}

function timestamptz(micros: number): string {
  const iso = new Date(Math.floor(micros / 1000)).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 23)}${String(micros % 1000).padStart(3, '0')}+00`;
}
