import { type Lane, rankOf } from '../../budget/budget.ts';
import type { Clock } from '../../clock.ts';

/** Whether the client of a source waits for the request limit, and for how long. */
export interface Waiting {
  /** Records that the client begins to wait. */
  note(waitMs: number, lane?: Lane): void;
  /** Milliseconds left to wait; 0 when it does not wait. */
  left(): number;
  /** Milliseconds left for a request of this lane: it waits behind its own lane and those above. */
  leftOf(lane: Lane): number;
  /** Resolves when the client begins to wait, at once when it already does. */
  begun(): Promise<void>;
}

export function createWaiting(clock: Clock): Waiting {
  let untilMs = 0;
  let waiting: Lane = 'live';
  const listeners: (() => void)[] = [];
  const left = () => Math.max(untilMs - clock.now(), 0);
  return {
    note(waitMs, lane = 'live') {
      untilMs = clock.now() + waitMs;
      waiting = lane;
      for (const listener of listeners.splice(0)) listener();
    },
    left,
    leftOf: lane => (rankOf(waiting) <= rankOf(lane) ? left() : 0),
    begun() {
      return left() > 0 ? Promise.resolve() : new Promise(resolve => listeners.push(resolve));
    },
  };
}
