import type { Slice } from './slice.ts';

/** What is known of one slice: as of when it is proven, what reading it cost, and what was found. */
export interface Entry {
  readonly slice: Slice;
  /** Epoch milliseconds of the grant of the first request of the last reading that proved it; null: never read in full. */
  readonly provenAt: number | null;
  /** The last reading of any kind; for slices that prove no range. */
  readonly readAt: number | null;
  /** Requests the last reading cost. */
  readonly requests: number;
  readonly rows: number | null;
  /** Rows found new, changed or deleted at re-readings, and the hours between these; both decay. */
  readonly changed: number;
  readonly hoursWatched: number;
  /** It is due from this moment on (epoch ms): a hint pointed to it, or a reading left a doubt. */
  readonly dueSince: number | null;
  readonly dueReason: string | null;
}

/** Why a list was never read: the source was asked for it and does not have it. */
export const NOT_OFFERED = 'not offered by this source';
