import type { Clock } from '../clock.ts';

/** Whether the source's client waits for the request limit, and until when. */
export interface Waiting {
  /** To be told by the client whenever it begins to wait. */
  note(waitMs: number): void;
  /** Milliseconds still to wait; 0 when it does not. */
  left(): number;
  /** Resolves while or as soon as the client waits. */
  begun(): Promise<void>;
}

export function createWaiting(clock: Clock): Waiting {
  let until = 0;
  const listeners: (() => void)[] = [];
  const left = () => Math.max(until - clock.now(), 0);
  return {
    note(waitMs) {
      until = clock.now() + waitMs;
      for (const listener of listeners.splice(0)) listener();
    },
    left,
    begun() {
      return left() > 0 ? Promise.resolve() : new Promise(resolve => listeners.push(resolve));
    },
  };
}
