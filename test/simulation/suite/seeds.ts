import type { Given } from '../plan/plan.ts';

/**
 * The seeds that `npm test` plays. Together they reach every value of every variant, every fault, every way to crash and
 * every kind of action that the hundred seeds from 1001 on reach, at a third of the cost. `npm run simulate` plays any seed.
 */
export const SEEDS: readonly number[] = [
  1001, 1003, 1005, 1009, 1011, 1017, 1020, 1023, 1028, 1030, 1031, 1034, 1037, 1040, 1045, 1048, 1052, 1056, 1061,
  1062, 1065, 1083, 1085, 1093, 1096, 1097, 1100, 1102, 1106, 1107,
];

/** Small pages and more lists take longer, so that only a few seeds have them here; `npm run simulate` has more. */
export const givenFor = (seed: number): Given => ({ pageSize: 'auto', ...(seed % 20 === 0 ? {} : { others: [] }) });
