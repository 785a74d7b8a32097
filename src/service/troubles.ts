import { MINUTE } from '../clock.ts';
import type { Db } from '../warehouse/database.ts';
import { freshness, type IncidentKind, type LastRun, lastEndedRuns, type Trouble } from '../warehouse/incidents.ts';

/** What is wrong with a source now, by its last runs and its schedule. Waiting for the request limit is not. */
export async function troublesOf(
  db: Db,
  source: string,
  resources: readonly string[],
  freshnessLimitMs: number,
): Promise<Trouble[]> {
  const failed = (await lastEndedRuns(db, source, resources)).filter(run => run.state === 'failed');
  const troubles = new Map<string, Trouble>();
  for (const run of failed) {
    const trouble = troubleOf(run);
    const name = `${trouble.kind} ${trouble.resource}`;
    if (!troubles.has(name)) troubles.set(name, trouble);
  }
  // Why the data grows old is told already: the age would be a second alert of the same trouble.
  const told = new Set([...troubles.values()].map(({ resource }) => resource));
  for (const { resource, ageSeconds, overdueSeconds } of await freshness(db, source, resources)) {
    if (overdueSeconds === null || overdueSeconds * 1000 <= freshnessLimitMs) continue;
    if (told.has(null) || told.has(resource)) continue;
    const age = ageSeconds === null ? 'was never synced' : `was last synced ${minutes(ageSeconds)} ago`;
    troubles.set(`outdated ${resource}`, {
      kind: 'outdated',
      resource,
      message: `${resource} ${age}, and a sync is due for ${minutes(overdueSeconds)}, longer than the ${minutes(freshnessLimitMs / 1000)} of FRESHNESS_LIMIT_MINUTES.`,
      next: 'See what is going on: sluice status. The log tells what the service waits for.',
    });
  }
  return [...troubles.values()];
}

/** A refused key and a source that does not answer befall all resources at once: they are one trouble of the source. */
function troubleOf({ resource, kind: work, failure, reason, next }: LastRun): Trouble {
  const kind: IncidentKind =
    failure === 'fuse' || failure === 'unauthorized' || failure === 'unavailable' ? failure : 'failed';
  const whole = kind === 'unauthorized' || kind === 'unavailable';
  const message = `The ${work === 'slot' ? 'scheduled sync' : work} of ${resource} failed: ${reason ?? 'no reason was kept.'}`;
  return { kind, resource: whole ? null : resource, message, next };
}

function minutes(seconds: number): string {
  const count = Math.max(Math.round((seconds * 1000) / MINUTE), 1);
  return `${count} minute${count === 1 ? '' : 's'}`;
}
