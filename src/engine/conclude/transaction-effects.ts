import type { Log } from '../../log.ts';
import type { ReadingState } from '../../warehouse/ledgers/cursors.ts';
import { type Counts, noCounts } from '../../warehouse/ledgers/runs.ts';
import type { CoverageChange } from '../coverage/prove.ts';
import type { Observation } from '../profile/observation.ts';
import { withObservation } from '../profile/source-profile.ts';
import type { Step } from '../read/step.ts';
import { adopt, type Resource } from '../resource.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import type { TaskEvent } from '../task/apply-event.ts';
import type { Task } from '../task/task.ts';

/**
 * What one transaction changes of a resource. Memory is updated after the commit, but for `holdsMissing` and `quarantined`, where true is always safe
 * and later steps of the transaction ask, and for what a report finds.
 */
export interface TransactionEffects {
  readonly resource: Resource;
  readonly log: Log;
  readonly entries: Map<string, Entry>;
  /** Slices of which `entries` may differ from those of the resource. */
  readonly touched: Set<string>;
  readonly readings: Record<string, ReadingState>;
  /** The answers of the transaction: of two that disagree of a row, the other may be the older. */
  readonly steps: Step[];
  /** What was observed of the list, by its trait. */
  readonly learnt: Map<string, Observation>;
  readonly counts: Map<Task, Counts>;
  /** What happened to the tasks, in order. */
  readonly events: [Task, TaskEvent][];
  readonly afterCommit: (() => void)[];
}

export const beginEffects = (resource: Resource, log: Log): TransactionEffects => ({
  resource,
  log,
  entries: new Map(resource.entries),
  touched: new Set(),
  readings: { ...resource.cursor.readings },
  steps: [],
  learnt: new Map(),
  counts: new Map(),
  events: [],
  afterCommit: [],
});

/** The resource with its coverage as this transaction has changed it so far; all else is as before it. */
export const resourceIn = ({ resource, entries }: TransactionEffects): Readonly<Resource> => ({ ...resource, entries });

export function countsOf(effects: TransactionEffects, task: Task): Counts {
  const counts = effects.counts.get(task) ?? noCounts();
  effects.counts.set(task, counts);
  return counts;
}

export function changeCoverage(
  { entries, touched }: TransactionEffects,
  { removed = [], put = [] }: Partial<CoverageChange>,
): void {
  for (const slice of removed) {
    const text = sliceText(slice);
    touched.add(text);
    entries.delete(text);
  }
  for (const entry of put) {
    const text = sliceText(entry.slice);
    touched.add(text);
    entries.set(text, entry);
  }
}

/** How the coverage that is stored becomes that of the transaction. */
export function coverageChange({ resource, entries, touched }: TransactionEffects): CoverageChange {
  const removed: Slice[] = [];
  const put: Entry[] = [];
  for (const text of touched) {
    const before = resource.entries.get(text);
    const after = entries.get(text);
    if (after !== undefined && after !== before) put.push(after);
    if (after === undefined && before !== undefined) removed.push(before.slice);
  }
  return { removed, put };
}

/** Notes an observation about the list, unless it is known. The task then retries slices that did not add up. */
export function remember(effects: TransactionEffects, task: Task, observation: Observation): void {
  const { resource, learnt, log } = effects;
  if (withObservation(resource.profile, observation) === resource.profile) return;
  learnt.set(observation.trait, observation);
  if (teachesReading(observation) && !task.reportOnly) effects.events.push([task, { kind: 'learnt' }]);
  effects.afterCommit.push(() => {
    adopt(resource, withObservation(resource.profile, observation));
    log.debug({ resource: resource.name, ...observation }, 'learnt');
  });
}

/**
 * What changes neither how a list is read nor what its readings prove; and how edges are asked for, since a window that lacked rows of
 * an edge is asked for with a day more in any case.
 */
const KEEPS_READINGS: readonly Observation['trait'][] = [
  'fields',
  'not ordered by',
  'lacked by value',
  'drift',
  'volatile',
  'address answered',
  'address shown',
  'list shown',
  'left out',
  'end',
  'date from',
  'date to',
];

/** Readings that did not add up may do so once this is known. */
const teachesReading = ({ trait }: Observation): boolean =>
  !KEEPS_READINGS.includes(trait) && !trait.startsWith('longest ') && !trait.startsWith('days shown ');
