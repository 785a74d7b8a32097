/** The priority classes of requests, highest first: a waiting `live` request is served before `backfill`, and that before `verify`. */
export const LANES = ['live', 'backfill', 'verify'] as const;

export type Lane = (typeof LANES)[number];

/** The place of a lane in that order, from 0. */
export const rankOf = (lane: Lane): number => LANES.indexOf(lane);

/** Permission to send one request. It counts against the limit from its grant until one window after its answer was complete. */
export interface Grant {
  readonly id: string;
  /** When it was granted, by the store's clock: a Postgres timestamptz text with microseconds and zone, e.g. `2026-01-15 10:00:00.123456+00`. */
  readonly grantedAt: string;
  /** The share of the limit, by our own count, that was unused once this was granted with the others of its `take`: 0 to 1. */
  readonly unused: number;
}

/** The answer to `take`. Without grants, `waitMs` (> 0) names the earliest moment at which one can be free. */
export interface Taken {
  readonly grants: Grant[];
  readonly waitMs: number;
  /** The limit is not used up; the wait only spreads the requests of a lane below live over the window. */
  readonly paced?: true;
}

/** The outcome of one request, and what its answer reported about the limit; durations in milliseconds from now. */
export interface Settlement {
  readonly purpose: string;
  readonly runId?: string;
  /** HTTP status; null when no complete answer came. */
  readonly status: number | null;
  /** The server's own count of requests left, and its limit. They may lower our count, never raise it. */
  readonly remaining?: number;
  readonly limit?: number;
  /** Until the server's window ends, by its own word. */
  readonly resetMs?: number;
  /** Over how long the server counts its limit, where it was seen to be less than our window. A refusal ends that. */
  readonly serverWindowMs?: number;
  /** How long the server refuses every request of this key (429). */
  readonly blockedForMs?: number;
  /** The server refused the request because it serves too many at once, not because of its limit. */
  readonly crowded?: true;
}

/**
 * The rolling window of requests of one API key. Two stores keep it, under one policy (`policy.ts`): `ledger/` in Postgres, shared by
 * all processes, and `memory-budget.ts` for one process.
 */
export interface Budget {
  /** Grants up to `want` requests at once. `kept`: so many of the limit are left unused. */
  take(lane: Lane, want: number, kept?: number): Promise<Taken>;
  /** The request was answered or given up: it counts for one more window from now. */
  settle(grant: Grant, settlement: Settlement): Promise<void>;
  /** Resolves when all that was settled is recorded: a store may record answers with its next statement, or some seconds later. */
  flush(): Promise<void>;
  /** Returns grants that were never sent; they stop counting at once. */
  release(grants: readonly Grant[]): Promise<void>;
}
