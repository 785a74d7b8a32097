import type { Given } from '../plan/plan.ts';

/**
 * The seeds that `npm test` plays: enough to show that the simulation and what it plays still work together. `npm run simulate` plays any
 * seed, and before a release two thousand.
 */
export const SEEDS: readonly number[] = [1001, 1009, 1020, 1034, 1083, 1052, 1096, 1106];

/** Small pages and more lists take longer, so that only a few seeds have them here; `npm run simulate` has more. */
export const givenFor = (seed: number): Given => ({ pageSize: 'auto', ...(seed % 20 === 0 ? {} : { others: [] }) });
