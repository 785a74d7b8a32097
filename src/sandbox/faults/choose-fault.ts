import { createRandom, mix } from '../data/random.ts';
import type { Variants } from '../variants/variants.ts';
import { type Fault, isListFault } from './fault-kinds.ts';

export type { Fault } from './fault-kinds.ts';

/** From the request with the number `at` on (the first is 1), the next `count` whose path contains or matches `path` go wrong. */
export interface PlannedFault {
  readonly at: number;
  readonly fault: Fault;
  readonly count: number;
  readonly path: string | RegExp;
}

/** The probability of each fault, from 0 to 1, at every request; their sum is at most 1. */
export type FaultRates = Readonly<Partial<Record<Fault, number>>>;

interface Arrived {
  /** The number of the request since the start, from 1. */
  index: number;
  path: string;
  /** Whether it asks for a list. */
  list: boolean;
}

/** Decides which requests go wrong, and how. */
export interface Faults {
  /** Makes the next `count` requests, or those whose path or query contains or matches `path`, go wrong. */
  failNext(fault: Fault, count?: number, path?: string | RegExp): void;
  /** Nothing more of what is planned goes wrong. */
  forgetPlanned(): void;
  of(request: Arrived): Fault | undefined;
}

const EVERY = 10;

const matches = (path: string, wanted: string | RegExp): boolean =>
  typeof wanted === 'string' ? path.includes(wanted) : wanted.test(path);

/** What is planned comes first, then chance, then the standing fault at every tenth request. */
export function createFaults(options: {
  standing: () => Variants['fault'];
  seed: number;
  rates: FaultRates;
  plan: readonly PlannedFault[];
}): Faults {
  const { standing, seed, rates } = options;
  const planned = options.plan.map(plan => ({ ...plan, left: plan.count }));
  const random = createRandom(seed);

  /** The number of a request decides alone, so that a run repeats whatever else is drawn from the seed. */
  const byChance = (index: number): Fault | undefined => {
    random.restart(mix(seed, index));
    let left = random.next();
    for (const [fault, rate] of Object.entries(rates) as [Fault, number][]) {
      if (left < rate) return fault;
      left -= rate;
    }
    return undefined;
  };
  const byHabit = (index: number): Fault | undefined => {
    const fault = standing();
    return fault === 'none' || index % EVERY !== 0 ? undefined : fault;
  };

  return {
    failNext(fault, count = 1, path = '') {
      planned.push({ at: 0, fault, count, path, left: count });
    },
    forgetPlanned: () => {
      planned.length = 0;
    },
    of({ index, path, list }) {
      const possible = (fault: Fault | undefined) => list || !isListFault(fault);
      const next = planned.find(plan => index >= plan.at && matches(path, plan.path) && possible(plan.fault));
      if (next) {
        next.left -= 1;
        if (next.left === 0) planned.splice(planned.indexOf(next), 1);
        return next.fault;
      }
      const fault = byChance(index) ?? byHabit(index);
      return possible(fault) ? fault : undefined;
    },
  };
}
