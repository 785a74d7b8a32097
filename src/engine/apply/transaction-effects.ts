import type { Log } from '../../log.ts';
import type { Db } from '../../warehouse/database/database.ts';
import { writeCoverage } from '../../warehouse/ledgers/coverage.ts';
import type { ReadingState } from '../../warehouse/ledgers/cursors.ts';
import { type Counts, noCounts } from '../../warehouse/ledgers/runs.ts';
import { writeTrait } from '../../warehouse/ledgers/traits.ts';
import type { CoverageChange } from '../coverage/prove.ts';
import type { Observation } from '../profile/observation.ts';
import { withObservation } from '../profile/source-profile.ts';
import { adopt, placeOf, type Resource } from '../resource.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { sliceText } from '../slices/slice.ts';
import { lookAgain, type Task } from '../task/task.ts';

/** What one transaction changes of a resource. Memory is updated after the commit. */
export interface TransactionEffects {
  readonly resource: Resource;
  readonly log: Log;
  readonly entries: Map<string, Entry>;
  readonly readings: Record<string, ReadingState>;
  readonly counts: Map<Task, Counts>;
  readonly afterCommit: (() => void)[];
}

export const beginEffects = (resource: Resource, log: Log): TransactionEffects => ({
  resource,
  log,
  entries: new Map(resource.entries),
  readings: { ...resource.cursor.readings },
  counts: new Map(),
  afterCommit: [],
});

/** The resource as this transaction has changed it so far. */
export const resourceIn = ({ resource, entries }: TransactionEffects): Resource => ({ ...resource, entries });

export function countsOf(effects: TransactionEffects, task: Task): Counts {
  const counts = effects.counts.get(task) ?? noCounts();
  effects.counts.set(task, counts);
  return counts;
}

export async function changeCoverage(
  tx: Db,
  effects: TransactionEffects,
  { removed = [], put = [] }: Partial<CoverageChange>,
): Promise<void> {
  if (removed.length === 0 && put.length === 0) return;
  for (const slice of removed) effects.entries.delete(sliceText(slice));
  for (const entry of put) effects.entries.set(sliceText(entry.slice), entry);
  await writeCoverage(tx, placeOf(effects.resource), removed, put);
}

/** Stores an observation about the list, unless it is known. The task then retries slices that did not add up. */
export async function remember(
  tx: Db,
  effects: TransactionEffects,
  task: Task,
  observation: Observation,
): Promise<void> {
  const { resource, log } = effects;
  if (withObservation(resource.profile, observation) === resource.profile) return;
  await writeTrait(tx, resource.source, { resource: resource.name, ...observation });
  effects.afterCommit.push(() => {
    adopt(resource, withObservation(resource.profile, observation));
    if (observation.trait !== 'fields') lookAgain(task);
    log.debug({ resource: resource.name, ...observation }, 'learnt');
  });
}
