import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';

/** The coverage of a slice; by default it was never read. */
export const anEntry = (given: Pick<Entry, 'slice'> & Partial<Entry>): Entry => ({
  provenAt: null,
  readAt: given.provenAt ?? null,
  requests: 1,
  rows: 100,
  changed: 0,
  hoursWatched: 0,
  dueSince: null,
  dueReason: null,
  ...given,
});
