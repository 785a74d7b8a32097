import type { Incident } from '../../warehouse/ledgers/incidents.ts';

/** What people read for each kind of incident. */
export const INCIDENT_TITLES: Readonly<Record<Incident['kind'], string>> = {
  failed: 'run failed',
  fuse: 'deletion limit reached',
  unauthorized: 'API key rejected',
  unavailable: 'source unavailable',
  outdated: 'data is stale',
};
