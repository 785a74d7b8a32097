import { createRandom, mix } from '../data/random.ts';
import { type Fault, isListFault } from './fault-kinds.ts';

/** From request number `at` on (the first is 1), the next `count` requests whose path and query match `path` fail. */
export interface PlannedFault {
  readonly at: number;
  readonly fault: Fault;
  readonly count: number;
  /** A substring, or an expression; an empty string matches every request. */
  readonly path: string | RegExp;
}

/** The probability of each fault per request, from 0 to 1. Their sum is at most 1. */
export type FaultRates = Readonly<Partial<Record<Fault, number>>>;

interface ReceivedRequest {
  /** The number of the request since the start, from 1. */
  number: number;
  /** Path and query. */
  path: string;
  /** Whether it reads a list. */
  list: boolean;
}

/** Chooses the fault of each request. */
export interface FaultChooser {
  /** Plans a fault for the next `count` requests that match `path`. Default: the next request. */
  readonly plan: (fault: Fault, count?: number, path?: string | RegExp) => void;
  /** Removes all planned faults. */
  readonly clearPlan: () => void;
  readonly choose: (request: ReceivedRequest) => Fault | undefined;
}

const EVERY_NTH = 10;

const matches = (path: string, pattern: string | RegExp): boolean =>
  typeof pattern === 'string' ? path.includes(pattern) : pattern.test(path);

/** Planned faults take precedence over random ones, and those over the periodic fault of the variant. */
export function createFaultChooser(options: {
  /** The fault of every tenth request. */
  periodic: () => Fault | 'none';
  seed: number;
  rates: FaultRates;
  plan: readonly PlannedFault[];
}): FaultChooser {
  const { periodic, seed, rates } = options;
  const planned = options.plan.map(plan => ({ ...plan, left: plan.count }));
  const random = createRandom(seed);

  /** Depends on the request number alone, so that a run repeats whatever else draws from the seed. */
  const randomFault = (number: number): Fault | undefined => {
    random.reseed(mix(seed, number));
    let left = random.next();
    for (const [fault, rate] of Object.entries(rates) as [Fault, number][]) {
      if (left < rate) return fault;
      left -= rate;
    }
    return undefined;
  };
  const periodicFault = (number: number): Fault | undefined => {
    const fault = periodic();
    return fault === 'none' || number % EVERY_NTH !== 0 ? undefined : fault;
  };

  return {
    plan(fault, count = 1, path = '') {
      planned.push({ at: 0, fault, count, path, left: count });
    },
    clearPlan: () => {
      planned.length = 0;
    },
    choose({ number, path, list }) {
      const applies = (fault: Fault | undefined) => list || !isListFault(fault);
      const next = planned.find(plan => number >= plan.at && matches(path, plan.path) && applies(plan.fault));
      if (next) {
        next.left -= 1;
        if (next.left === 0) planned.splice(planned.indexOf(next), 1);
        return next.fault;
      }
      const fault = randomFault(number) ?? periodicFault(number);
      return applies(fault) ? fault : undefined;
    },
  };
}
