import type { Incident, IncidentKind } from '../../warehouse/ledgers/incidents.ts';

interface IncidentWords {
  readonly title: string;
  /** A sentence without its end. `who`: the list or the source; `lasting`: ` for 2 h`, empty for what has just begun. */
  readonly say: (who: string, lasting: string, incident: Incident) => string;
}

/** What people read for each kind of incident. */
export const INCIDENT_WORDS: Readonly<Record<IncidentKind, IncidentWords>> = {
  failed: { title: 'run failed', say: who => `${who}: the last run failed` },
  fuse: { title: 'loss limit reached', say: who => `${who}: more would be lost than a day allows` },
  rewrite: { title: 'many values replaced', say: (who, lasting) => `${who}: many values were replaced${lasting}` },
  restored: {
    title: 'source shows an earlier state',
    say: (who, lasting) => `${who} shows an earlier state${lasting}`,
  },
  restated: { title: 'closed month changed', say: who => `${who}: rows of a closed month changed` },
  undelivered: {
    title: 'changes are not delivered',
    say: (_who, lasting, { source, resource }) => `${source}: changes are not delivered to ${resource}${lasting}`,
  },
  unauthorized: { title: 'API key rejected', say: (who, lasting) => `${who}: the API key is rejected${lasting}` },
  unavailable: {
    title: 'source unavailable',
    say: (who, lasting, { resource }) => {
      if (resource !== null) return `${who}: no answer${lasting}`;
      return lasting === '' ? `${who} does not answer` : `${who} has not answered${lasting}`;
    },
  },
  outdated: { title: 'data is stale', say: (who, lasting) => `${who}: not read as scheduled${lasting}` },
};

export const INCIDENT_KINDS = Object.keys(INCIDENT_WORDS) as readonly IncidentKind[];
