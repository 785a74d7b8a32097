import { SECOND } from '../clock.ts';

/** What an answer reported about the server's limit; moments by the client's clock. */
export interface Reported {
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
export interface Evidence {
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
export function observeReport(evidence: Evidence | null, report: Reported, windowMs: number): Evidence | null {
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
export function serverWindowOf(evidence: Evidence | null, windowMs: number): number | undefined {
  if (!evidence) return undefined;
  const longest = Math.max(evidence.spanMs, evidence.refillMs, evidence.longestResetMs);
  return longest <= windowMs / 2 ? Math.ceil(longest / SECOND) * SECOND : undefined;
}

/** So many requests were forgotten so soon that a server with our window cannot have done it gradually. */
export const forgetsFast = ({ refillMs }: Evidence, windowMs: number): boolean => refillMs <= windowMs * NEAR;

const nothingOf = (limit: number): Evidence => ({
  limit,
  requests: [],
  forgets: null,
  spanMs: Number.POSITIVE_INFINITY,
  refillMs: Number.POSITIVE_INFINITY,
  longestResetMs: 0,
});
