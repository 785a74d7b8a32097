import type { OrderState } from '../../warehouse/ledgers/orders.ts';
import type { RunState } from '../../warehouse/ledgers/runs.ts';

/** Which processes work for a source at this moment. */
export interface Presence {
  /** A process holds the source's lock. */
  readonly isRead: boolean;
  /** A service is running that will read it again. */
  readonly isServed: boolean;
}

/**
 * The state of an open run as people should see it. A process that is killed cannot record its end; the next reader of the source does,
 * perhaps days later. Until then the lock tells: without a holder, no run is under way.
 */
export function shownRunState(state: RunState, { isRead, isServed }: Presence): RunState {
  if (state === 'running') return isRead ? 'running' : 'stopped';
  // A service releases the source while the request limit blocks it, and returns.
  if (state === 'waiting') return isRead || isServed ? 'waiting' : 'stopped';
  return state;
}

/** An open order that nobody reads waits for the next process. */
export const shownOrderState = (state: OrderState, { isRead }: Presence): OrderState =>
  state === 'running' && !isRead ? 'waiting' : state;
