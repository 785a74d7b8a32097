import { MINUTE } from '../clock.ts';
import type { Grant, Lane, Settlement, Taken } from './budget.ts';

/** What a store knows about a key at one moment. */
export interface Facts {
  readonly windowMs: number;
  /** Requests per window: the configured limit, or what the server or another process lowers it to, less what is left to other programs. */
  readonly capacity: number;
  /** Requests that the server counts beyond ours and what is left to others, e.g. those of another program on the same key. */
  readonly withheld: number;
  /** Requests that count now, including those in flight. */
  readonly used: number;
  /** How long the server still refuses every request of the key; 0 when it does not. */
  readonly blockedMs: number;
  /** Time since a lane below live was last granted a request; `Infinity` when that is unknown. */
  readonly sincePacedMs: number;
  /** Time until the first reason for a lower capacity lapses; undefined without one. */
  readonly loweredMs: number | undefined;
  /** A limit over a shorter window that holds beside ours: the server's own, where it was seen to count so. */
  readonly shorter?: Shorter | undefined;
}

export type Shorter = Pick<Facts, 'windowMs' | 'capacity' | 'withheld' | 'used' | 'loweredMs'>;

/** `full`: the lane has to wait until `missing` more requests have stopped counting, in the shorter window if it names one. */
export type Decision =
  | { readonly kind: 'grant'; readonly count: number }
  | { readonly kind: 'wait'; readonly waitMs: number; readonly paced: boolean }
  | { readonly kind: 'full'; readonly missing: number; readonly of?: Shorter };

/** Requests that may still be sent in the current window; negative when a lowered limit is already exceeded. */
export const freeOf = ({ capacity, withheld, used }: Pick<Facts, 'capacity' | 'withheld' | 'used'>): number =>
  capacity - withheld - used;

/** The share of the capacity that is unused once `count` more requests are granted. */
export const unusedAfter = (facts: Facts, count: number): number =>
  Math.max(0, freeOf(facts) - count) / Math.max(1, facts.capacity);

/** Of a limit that the server or another process lowered, other programs are left the same share. */
export const leftToOthers = (limit: number, of: { readonly limit: number; readonly reserve: number }): number =>
  Math.min(Math.ceil((limit * of.reserve) / of.limit), limit - 1);

/** The requests that only live may use: 1% of the capacity, rounded up; none of a capacity of one request. */
export const keptForLive = (capacity: number): number => Math.min(Math.ceil(capacity / 100), capacity - 1);

/**
 * How many requests a lane is granted, or what it waits for. Live may use all that is free. The other lanes leave `keptForLive`;
 * they burst while more than half of the capacity is free, and then get one request per `windowMs / capacity`. `kept` requests stay free in
 * any case. `takeAfter` in `ledger/ledger.ts` is the same rule in SQL; `test/budget/same-policy.test.ts` compares them.
 */
export function decide(facts: Facts, lane: Lane, want: number, kept = 0): Decision {
  const decision = decideByOwn(facts, lane, want, kept);
  const { shorter } = facts;
  if (!shorter || decision.kind !== 'grant') return decision;
  const free = freeOf(shorter) - (lane === 'live' ? 0 : keptForLive(shorter.capacity));
  if (free <= 0) return { kind: 'full', missing: 1 - free, of: shorter };
  return { kind: 'grant', count: Math.min(decision.count, free) };
}

function decideByOwn(facts: Facts, lane: Lane, want: number, kept: number): Decision {
  if (facts.blockedMs > 0) return { kind: 'wait', waitMs: facts.blockedMs, paced: false };
  const { capacity, windowMs } = facts;
  const free = freeOf(facts);
  const unusable = Math.max(lane === 'live' ? 0 : keptForLive(capacity), kept);
  if (free <= unusable) return { kind: 'full', missing: unusable + 1 - free };
  if (lane === 'live') return { kind: 'grant', count: Math.min(want, free - unusable) };
  const burst = Math.ceil(free - capacity / 2);
  if (burst > 0) return { kind: 'grant', count: Math.min(want, burst, free - unusable) };
  const pauseMs = windowMs / capacity - facts.sincePacedMs;
  return pauseMs > 0 ? { kind: 'wait', waitMs: pauseMs, paced: true } : { kind: 'grant', count: 1 };
}

/**
 * The wait of a `full` lane. `nextFreeMs`: time until enough of the requests that count now have stopped counting; undefined when fewer
 * than that count. A lowered limit may lapse earlier.
 */
export function untilFreeMs({ loweredMs, windowMs }: Shorter, nextFreeMs: number | undefined): number {
  const earliestMs = Math.min(nextFreeMs ?? Number.POSITIVE_INFINITY, loweredMs ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(earliestMs) ? earliestMs : windowMs;
}

/** The answer to a `take` that was granted nothing, with the wait in whole milliseconds. */
export function deferred(waitMs: number, paced = false): Taken {
  const wait = { grants: [] as Grant[], waitMs: Math.max(1, Math.ceil(waitMs)) };
  return paced ? { ...wait, paced } : wait;
}

/** The longest that earlier refusals block a key beyond what the server asked for. */
export const MAX_REPEATED_BLOCK_MS = 10 * MINUTE;

/** The longest that anything an answer reported can hold; a later end dates from before the clock was set back. */
export const longestHoldMs = (windowMs: number): number => Math.max(windowMs, MAX_REPEATED_BLOCK_MS);

/** The requests per window of ours that a server's limit over its own window comes to. */
export const perWindow = (limit: number, serverWindowMs: number, windowMs: number): number =>
  Math.floor((limit * windowMs) / serverWindowMs);

/** Over how long the server counts after an answer; null: as far as is known, over our window. */
export function serverWindowAfter(
  known: { readonly windowMs: number | null; readonly limit: number | null },
  { status, crowded, serverWindowMs, limit = known.limit ?? undefined, resetMs = 0 }: Settlement,
): number | null {
  const next = serverWindowMs ?? known.windowMs;
  const isContradicted = (status === 429 && !crowded) || limit !== (known.limit ?? undefined);
  return isContradicted || next === null || resetMs > next ? null : next;
}

/** What one answer changes about a key. An undefined field is left as it is. */
export interface LimitReport {
  /** Holds for one window, the server's where it is known. */
  readonly withheld: number | undefined;
  /** A limit below ours, which holds for one window; null when the server's limit does not lower ours. */
  readonly serverLimit: number | null | undefined;
  /** Ends no earlier than a block that already holds. */
  readonly blockedMs: number | undefined;
}

/**
 * What an answer reports about the limit. `used` includes this answer; in the server's window where it is known. `refusedForMs`: time since
 * the first of the refusals, this one among them, that came without another answer in between; 0 for a single one. A source that serves too
 * many requests at once is no reason to wait longer than it asks. SETTLE in `ledger/settle.ts` is the same rule in SQL.
 */
export function observe(
  { remaining, limit, blockedForMs, crowded }: Pick<Settlement, 'remaining' | 'limit' | 'blockedForMs' | 'crowded'>,
  key: { limit: number; windowMs: number; used: number; refusedForMs: number },
): LimitReport {
  const left = countOf(remaining);
  const serverLimit = countOf(limit);
  const repeatedMs = crowded ? 0 : Math.min(key.refusedForMs, key.windowMs, MAX_REPEATED_BLOCK_MS);
  return {
    withheld:
      left === undefined ? undefined : Math.max(0, Math.min(key.limit, serverLimit ?? key.limit) - left - key.used),
    serverLimit:
      serverLimit === undefined ? undefined : serverLimit >= 1 && serverLimit < key.limit ? serverLimit : null,
    blockedMs: blockedForMs === undefined ? undefined : Math.max(blockedForMs, repeatedMs),
  };
}

/** A count as a header may report it; undefined when it is not a count that Postgres stores as an `integer`. */
export function countOf(value: number | undefined): number | undefined {
  return value !== undefined && Number.isInteger(value) && value >= 0 && value < 2 ** 31 ? value : undefined;
}
