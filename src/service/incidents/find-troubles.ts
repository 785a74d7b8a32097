import { MINUTE } from '../../clock.ts';
import type { Db } from '../../warehouse/database/database.ts';
import {
  type Freshness,
  freshness,
  type Incident,
  type LastRun,
  lastEndedRuns,
  openIncidents,
  type Trouble,
} from '../../warehouse/ledgers/incidents.ts';

/** What is wrong with a source now, by its last runs and its schedule. Waiting for the request limit is no trouble. */
export async function findTroubles(
  db: Db,
  source: string,
  resources: readonly string[],
  freshnessLimitMs: number,
): Promise<Trouble[]> {
  const failed = (await lastEndedRuns(db, source, resources)).filter(run => run.state === 'failed');
  const open = await openIncidents(db, source);
  const troubles = new Map<string, Trouble>();
  /** Resources whose failed sync explains why their data is stale; null for the whole source. */
  const explained = new Set<string | null>();
  for (const run of failed) {
    const trouble = troubleOfRun(run, open);
    if (!trouble) continue;
    const name = `${trouble.kind} ${trouble.resource}`;
    if (!troubles.has(name)) troubles.set(name, trouble);
    if (run.kind === 'slot' || run.kind === 'sync') explained.add(trouble.resource);
  }
  for (const each of await freshness(db, source, resources)) {
    const trouble = staleness(each, freshnessLimitMs, explained);
    if (trouble) troubles.set(`outdated ${each.resource}`, trouble);
  }
  return [...troubles.values()];
}

function staleness(
  { resource, ageSeconds, overdueSeconds, isOutdated }: Freshness,
  freshnessLimitMs: number,
  explained: ReadonlySet<string | null>,
): Trouble | null {
  if (overdueSeconds === null) return null;
  // It stays stale until the next sync: processes with different limits would otherwise open and end the incident in turns.
  if (!isOutdated && overdueSeconds * 1000 <= freshnessLimitMs) return null;
  const age = ageSeconds === null ? 'has never been synced' : `was last synced ${minutes(ageSeconds)} ago`;
  const limit = `FRESHNESS_LIMIT_MINUTES (${minutes(freshnessLimitMs / 1000)})`;
  return {
    kind: 'outdated',
    resource,
    message: `${resource} ${age}. A sync has been due for ${minutes(overdueSeconds)}, longer than ${limit}.`,
    next: 'Run sluice status, and check the log for what the service is waiting for.',
    explained: explained.has(null) || explained.has(resource),
  };
}

/** Failures that can affect all resources of a source at once. */
const OF_SOURCE = new Map<string | null, Trouble['kind']>([
  ['unauthorized', 'unauthorized'],
  ['unavailable', 'unavailable'],
  ['configuration', 'failed'],
]);

/**
 * A rejected key, an unavailable source or a different installation is one trouble of the source, and ends with the next successful
 * sync of any resource. Where other resources sync meanwhile, it is the resource's own and stays so: otherwise each success of the
 * others would end it and the next failure would open it again.
 */
function troubleOfRun(run: LastRun, open: readonly Incident[]): Trouble | null {
  const { resource, kind: work, failure, reason, next } = run;
  const message = `The ${work === 'slot' ? 'scheduled sync' : work} of ${resource} failed: ${reason ?? 'no reason was recorded.'}`;
  const kind = OF_SOURCE.get(failure);
  if (!kind) return { kind: failure === 'fuse' ? failure : 'failed', resource, message, next };
  const isOpen = open.some(incident => incident.kind === kind && incident.resource === resource);
  if (isOpen || run.othersMeanwhile) return { kind, resource, message, next };
  return run.othersSince ? null : { kind, resource: null, message, next };
}

function minutes(seconds: number): string {
  const count = Math.max(Math.round((seconds * 1000) / MINUTE), 1);
  return `${count} minute${count === 1 ? '' : 's'}`;
}
