/** Priority classes, in the order in which waiting requests are served. */
export const LANES = ['live', 'backfill', 'verify'] as const;
export type Lane = (typeof LANES)[number];

/** Leave to send one request. It counts against the limit from its grant until one window after its answer was complete. */
export interface Grant {
  readonly id: string;
  /** When it was granted, by the ledger's clock: a Postgres timestamptz text with microseconds and zone, e.g. `2026-01-15 10:00:00.123456+00`. */
  readonly grantedAt: string;
}

/** What one answer told of the limit, as it came; durations in milliseconds from now. */
export interface Settlement {
  readonly purpose: string;
  readonly runId?: string;
  /** HTTP status; null when no complete answer came. */
  readonly status: number | null;
  /** The server's own count of requests left, and its limit. They may lower our count, never raise it. */
  readonly remaining?: number;
  readonly limit?: number;
  /** How long the server asks everyone on this key to stay away (429). */
  readonly blockedForMs?: number;
}

/** The rolling ledger of requests of one API key. `source` only asks; the warehouse's implementation is shared by all processes. */
export interface Budget {
  /**
   * Up to `want` grants at once. None: ask again after `waitMs` (> 0), which names the earliest moment one can be free. `paced`: the
   * limit is not used up, and the wait only spreads the requests of a lower lane.
   */
  take(lane: Lane, want: number): Promise<{ grants: Grant[]; waitMs: number; paced?: true }>;
  /** The request was answered or given up: it goes on counting for one window from now. */
  settle(grant: Grant, settlement: Settlement): Promise<void>;
  /** These grants were never sent; they stop counting at once. */
  release(grants: readonly Grant[]): Promise<void>;
}
