import { type Clock, MINUTE, SECOND } from '../clock.ts';
import type { Budget } from './budget.ts';

/** The limit of a server, and the time over which it counts. */
export interface ServerWindow {
  readonly limit: number;
  readonly windowMs: number;
}

/** The server's clock and ours may differ by so much. */
const AFTER_RESET_MS = 5 * SECOND;
/** Requests of the limit that are kept for questions, at most. */
const MOST_QUESTIONS = 8;
/** With a shorter window of ours there is little to gain. */
const LEAST_WINDOW_MS = 10 * MINUTE;

/**
 * Finds out whether the server counts its limit over a shorter window than ours. While all its resets are near, a few requests of the
 * limit as we count it are kept back. When the rest is used up, each asks, after an announced reset, what the server has forgotten. A
 * refusal disproves all: nothing is learnt for a window.
 */
export function learnServerWindow(
  budget: Budget,
  { clock, windowMs, onWindow }: { clock: Clock; windowMs: number; onWindow?: (found: ServerWindow | null) => void },
): Budget {
  if (windowMs < LEAST_WINDOW_MS) return budget;
  const sentAt = new Map<string, number>();
  let evidence: Evidence | null = null;
  let found: ServerWindow | null = null;
  /** When the next question may be asked, by the last reset. */
  let asksAt = 0;
  let questions = 0;
  let question: string | null = null;
  let restsUntil = Number.NEGATIVE_INFINITY;

  const kept = () =>
    evidence && !found ? Math.max(0, Math.min(MOST_QUESTIONS, Math.floor(evidence.limit / 2)) - questions) : 0;

  function forget(): void {
    if (found) onWindow?.(null);
    [evidence, found, questions] = [null, null, 0];
  }

  return {
    async take(lane, want) {
      const before = clock.now();
      let taken = await budget.take(lane, want, kept());
      if (taken.grants.length === 0 && !taken.paced && kept() > 0) {
        const untilMs = asksAt - clock.now();
        if (untilMs > 0) taken = { ...taken, waitMs: Math.min(taken.waitMs, untilMs) };
        else {
          asksAt = Number.POSITIVE_INFINITY;
          taken = await budget.take(lane, 1);
          question = taken.grants[0]?.id ?? null;
          if (question !== null) questions++;
        }
      }
      for (const { id } of taken.grants) sentAt.set(id, before);
      return taken;
    },
    async settle(grant, settlement) {
      const { status, crowded, limit, remaining, resetMs } = settlement;
      const at = clock.now();
      const sent = sentAt.get(grant.id);
      sentAt.delete(grant.id);
      if (status === 429 && !crowded) {
        forget();
        restsUntil = at + windowMs;
      } else if (sent !== undefined && limit !== undefined && remaining !== undefined && at >= restsUntil) {
        evidence = observeReport(evidence, { sentAt: sent, at, limit, remaining, resetMs }, windowMs);
        if (!evidence || (found && (limit !== found.limit || (resetMs ?? 0) > found.windowMs))) forget();
        const proven = serverWindowOf(evidence, windowMs);
        if (proven !== undefined && proven < (found?.windowMs ?? windowMs)) {
          found = { limit, windowMs: proven };
          onWindow?.(found);
        }
        if (question === grant.id && evidence && !forgetsFast(evidence, windowMs)) {
          forget();
          restsUntil = at + windowMs;
        }
        asksAt = at + Math.max(resetMs ?? 0, AFTER_RESET_MS * 2 ** questions) + AFTER_RESET_MS;
      }
      await budget.settle(grant, found ? { ...settlement, serverWindowMs: found.windowMs } : settlement);
    },
    flush: () => budget.flush(),
    release(grants) {
      for (const { id } of grants) sentAt.delete(id);
      return budget.release(grants);
    },
  };
}

/** What an answer reported about the server's limit; moments by the client's clock. */
interface Reported {
  /** No later than the request was sent. */
  readonly sentAt: number;
  /** When the answer was complete. */
  readonly at: number;
  readonly limit: number;
  readonly remaining: number;
  /** Until the server's window ends, by its own word. */
  readonly resetMs: number | undefined;
}

/** What the answers since the first near reset say about the time over which the server counts. Every bound is an upper one. */
interface Evidence {
  readonly limit: number;
  /** Requests that the server counted, in the order in which they were sent. */
  readonly requests: readonly Reported[];
  /** Times one after the other at which the server had forgotten requests. */
  readonly forgets: { readonly since: number; readonly count: number; readonly last: Reported } | null;
  /** Of a server that forgets all at once, by how often it has done so. */
  readonly spanMs: number;
  /** Of a server that forgets gradually, by how much it has forgotten. */
  readonly refillMs: number;
  readonly longestResetMs: number;
}

/** A reset is near in this part of our window. */
const NEAR = 1 / 4;
/** A server that is restarted may forget once, one with our window at its end. */
const LEAST_FORGETS = 3;
/** A longer series is less exact if the requests paused meanwhile. */
const MOST_FORGETS = 8;
const MOST_REQUESTS = 1000;

/**
 * Adds an answer. Null once a reset is not near: the server may count as we do. The server has forgotten requests where it reports more
 * left than the limit less those of ours that it counted since some moment. A window that slides is shorter than the time since then, a
 * fixed one has ended within it, and a bucket was filled by at least as many tokens.
 */
function observeReport(evidence: Evidence | null, report: Reported, windowMs: number): Evidence | null {
  const { limit, remaining, resetMs, sentAt, at } = report;
  // A reset that has just passed says nothing, nor does a constant.
  if (resetMs === undefined) return evidence;
  if (resetMs > windowMs * NEAR) return null;
  const known = evidence?.limit === limit ? evidence : nothingOf(limit);
  let { forgets, spanMs, refillMs } = known;
  let since: Reported | undefined;
  let counted = 1;
  let countedSince = 1;
  for (const earlier of known.requests.toReversed()) {
    // The server may have counted one that was in flight before or after.
    if (earlier.at > sentAt) continue;
    counted++;
    // Only what it counted after it had last forgotten is forgotten anew.
    if (!forgets || earlier === forgets.last || earlier.sentAt >= forgets.last.at) countedSince++;
    if (remaining - limit + countedSince > 0) since ??= earlier;
    const forgotten = remaining - limit + counted;
    if (forgotten <= 0) continue;
    refillMs = Math.min(refillMs, ((at - earlier.sentAt) * limit) / forgotten);
  }
  if (since && !forgets) forgets = { since: since.sentAt, count: 1, last: report };
  else if (since && forgets) {
    forgets = { ...forgets, count: forgets.count + 1, last: report };
    if (forgets.count >= LEAST_FORGETS) spanMs = Math.min(spanMs, (at - forgets.since) / (forgets.count - 1));
    if (forgets.count >= MOST_FORGETS) forgets = null;
  }
  const requests = [...known.requests, report].sort((a, b) => a.sentAt - b.sentAt).slice(-MOST_REQUESTS);
  return { limit, requests, forgets, spanMs, refillMs, longestResetMs: Math.max(known.longestResetMs, resetMs) };
}

/** The time over which the server counts, in whole seconds and at most half of our window; undefined while that is not proven. */
function serverWindowOf(evidence: Evidence | null, windowMs: number): number | undefined {
  if (!evidence) return undefined;
  const longest = Math.max(evidence.spanMs, evidence.refillMs, evidence.longestResetMs);
  return longest <= windowMs / 2 ? Math.ceil(longest / SECOND) * SECOND : undefined;
}

/** So many requests were forgotten so soon that a server with our window cannot have done it gradually. */
const forgetsFast = ({ refillMs }: Evidence, windowMs: number): boolean => refillMs <= windowMs * NEAR;

const nothingOf = (limit: number): Evidence => ({
  limit,
  requests: [],
  forgets: null,
  spanMs: Number.POSITIVE_INFINITY,
  refillMs: Number.POSITIVE_INFINITY,
  longestResetMs: 0,
});
