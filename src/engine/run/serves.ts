import type { Order } from '../../warehouse/ledgers/orders.ts';
import type { AgendaMemory } from './agenda/agenda.ts';

/** What a loop reads, and how it may end. */
export interface Serves {
  readonly orders: (order: Order) => boolean;
  readonly slots: boolean;
  /** Once aborted, the loop starts nothing new and ends with the readings in progress. */
  readonly draining?: AbortSignal;
  /**
   * Between ticks, asks whatever is worth most, evenly over time at the rate that the limit allows. Holds what an earlier loop of this source left
   * behind. With `slots`; default: it asks only what ticks and orders do.
   */
  readonly agenda?: AgendaMemory;
  /** Whether somebody waits until this loop ends; it ends where it would only wait for its pace. Default: yes. */
  readonly othersWait?: () => boolean | Promise<boolean>;
  /** Ends the loop when the request limit blocks all readings for more than a minute; the next loop continues them. */
  readonly yields?: boolean;
}
