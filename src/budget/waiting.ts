import type { Clock } from '../clock.ts';
import { LANES, type Lane } from './budget.ts';

/** Whether the source's client waits for the request limit, and until when. */
export interface Waiting {
  /** To be told by the client whenever it begins to wait. */
  note(waitMs: number, lane?: Lane): void;
  /** Milliseconds still to wait; 0 when it does not. */
  left(): number;
  /** The same, for what is asked on one lane: the limit serves the highest first, and the others wait behind it. */
  leftOf(lane: Lane): number;
  /** Resolves while or as soon as the client waits. */
  begun(): Promise<void>;
}

export function createWaiting(clock: Clock): Waiting {
  let until = 0;
  let waiting: Lane = 'live';
  const listeners: (() => void)[] = [];
  const left = () => Math.max(until - clock.now(), 0);
  return {
    note(waitMs, lane = 'live') {
      until = clock.now() + waitMs;
      waiting = lane;
      for (const listener of listeners.splice(0)) listener();
    },
    left,
    leftOf: lane => (LANES.indexOf(waiting) <= LANES.indexOf(lane) ? left() : 0),
    begun() {
      return left() > 0 ? Promise.resolve() : new Promise(resolve => listeners.push(resolve));
    },
  };
}
