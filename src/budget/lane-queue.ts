import { LANES, type Lane } from './budget.ts';

/** A request that waits for its lane to be served. */
export interface Waiter<Permit> {
  readonly lane: Lane;
  readonly start: (permit: Permit) => Promise<void>;
  readonly refuse: (error: unknown) => void;
}

/** The waiting requests, the highest lane first, and each lane in order of arrival. */
export interface LaneQueue<Permit> {
  add(waiter: Waiter<Permit>): void;
  remove(waiter: Waiter<Permit>): void;
  readonly size: number;
  first(): Waiter<Permit> | undefined;
  all(): Waiter<Permit>[];
  /** The highest lane that holds a waiter who is not among the first `served`, and how many such waiters it holds. */
  beyond(served: number): { lane: Lane; count: number } | undefined;
}

export function createLaneQueue<Permit>(): LaneQueue<Permit> {
  const waiters: Record<Lane, Set<Waiter<Permit>>> = { live: new Set(), backfill: new Set(), verify: new Set() };
  return {
    add: waiter => void waiters[waiter.lane].add(waiter),
    remove: waiter => void waiters[waiter.lane].delete(waiter),
    get size() {
      return LANES.reduce((sum, lane) => sum + waiters[lane].size, 0);
    },
    first() {
      const lane = LANES.find(each => waiters[each].size > 0);
      return lane && waiters[lane].values().next().value;
    },
    all: () => LANES.flatMap(lane => [...waiters[lane]]),
    beyond(served) {
      let left = served;
      for (const lane of LANES) {
        const count = waiters[lane].size - left;
        if (count > 0) return { lane, count };
        left = -count;
      }
      return undefined;
    },
  };
}
