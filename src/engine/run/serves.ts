import type { Order } from '../../warehouse/ledgers/orders.ts';

/** What a loop reads, and how it may be ended. */
export interface Serves {
  readonly orders: (order: Order) => boolean;
  readonly slots: boolean;
  /** Once aborted, nothing new is begun; the loop ends when what is under way has. */
  readonly draining?: AbortSignal;
  /** Ends when the request limit holds everything up for more than a minute; what was begun waits for the next loop. */
  readonly yields?: boolean;
}
