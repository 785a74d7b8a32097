import { MINUTE } from '../../clock.ts';
import type { Db } from '../../warehouse/database/database.ts';
import {
  freshness,
  type Incident,
  type LastRun,
  lastEndedRuns,
  openIncidents,
  type Trouble,
} from '../../warehouse/ledgers/incidents.ts';

/** What is wrong with a source now, by its last runs and its schedule. Waiting for the request limit is not. */
export async function troublesOf(
  db: Db,
  source: string,
  resources: readonly string[],
  freshnessLimitMs: number,
): Promise<Trouble[]> {
  const failed = (await lastEndedRuns(db, source, resources)).filter(run => run.state === 'failed');
  const open = await openIncidents(db, source);
  const troubles = new Map<string, Trouble>();
  // Why the data grows old is told already: the age would be a second alert of the same trouble. Only what a sync met tells it.
  const told = new Set<string | null>();
  for (const run of failed) {
    const trouble = troubleOf(run, open);
    if (!trouble) continue;
    const name = `${trouble.kind} ${trouble.resource}`;
    if (!troubles.has(name)) troubles.set(name, trouble);
    if (run.kind === 'slot' || run.kind === 'sync') told.add(trouble.resource);
  }
  for (const { resource, ageSeconds, overdueSeconds, isOutdated } of await freshness(db, source, resources)) {
    if (overdueSeconds === null) continue;
    // What is outdated stays so until it is synced: processes with different limits would end and open it in turns.
    if (!isOutdated && overdueSeconds * 1000 <= freshnessLimitMs) continue;
    const age = ageSeconds === null ? 'was never synced' : `was last synced ${minutes(ageSeconds)} ago`;
    troubles.set(`outdated ${resource}`, {
      kind: 'outdated',
      resource,
      message: `${resource} ${age}, and a sync is due for ${minutes(overdueSeconds)}, longer than the ${minutes(freshnessLimitMs / 1000)} of FRESHNESS_LIMIT_MINUTES.`,
      next: 'See what is going on: sluice status. The log tells what the service waits for.',
      explained: told.has(null) || told.has(resource),
    });
  }
  return [...troubles.values()];
}

/** Failures that befall all resources of a source at once. */
const OF_SOURCE = new Map<string | null, Trouble['kind']>([
  ['unauthorized', 'unauthorized'],
  ['unavailable', 'unavailable'],
  ['configuration', 'failed'],
]);

/**
 * A refused key and a source that does not answer, or is not the one it was, are one trouble of the source, and over as
 * soon as any sync ends well. Where others are read all the while (a key that may not read one list), it is the resource's own,
 * and stays so: what one resource meets again and again would otherwise be told again with every success of the others.
 */
function troubleOf(run: LastRun, open: readonly Incident[]): Trouble | null {
  const { resource, kind: work, failure, reason, next } = run;
  const message = `The ${work === 'slot' ? 'scheduled sync' : work} of ${resource} failed: ${reason ?? 'no reason was kept.'}`;
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
