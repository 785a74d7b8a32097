import type { Order } from '../../warehouse/ledgers/orders.ts';

/** What a loop reads, and how it may end. */
export interface Serves {
  readonly orders: (order: Order) => boolean;
  readonly slots: boolean;
  /** Once aborted, the loop starts nothing new and ends with the readings in progress. */
  readonly draining?: AbortSignal;
  /** Ends the loop when the request limit blocks all readings for more than a minute; the next loop continues them. */
  readonly yields?: boolean;
}
