import type { Slice } from './slice.ts';

/** What is known of one slice: as of when it is proven, what reading it cost, and what was found. */
export interface Entry {
  readonly slice: Slice;
  /** Epoch milliseconds of the grant of the first request of the last reading that proved it; null: never read in full. */
  readonly provenAt: number | null;
  /** Epoch milliseconds of the grant of the first request of the last reading, whether it proved the slice or not. */
  readonly readAt: number | null;
  /** Requests the last reading cost. */
  readonly requests: number;
  readonly rows: number | null;
  /** Rows found new, changed or deleted at re-readings, and the hours between these; both decay. */
  readonly changed: number;
  readonly hoursWatched: number;
  /** It is due from this moment on (epoch ms): a hint pointed to it, or a reading left a doubt. */
  readonly dueSince: number | null;
  /** The latest of: why it is due, why its last reading proved nothing, `NOT_OFFERED`, how a `total` differs. Null once proven or equal. */
  readonly dueReason: string | null;
}

/** Why a list was never read: the source was asked for it and does not have it. */
export const NOT_OFFERED = 'not offered by this source';
