import type { Lane } from '../../budget/budget.ts';
import { isKind, SluiceError } from '../../errors.ts';
import { addCounts, type Counts, noCounts } from '../../warehouse/ledgers/runs.ts';
import type { Wish } from '../agenda/choice.ts';
import type { Resource } from '../resource.ts';
import type { Slice } from '../slices/slice.ts';
import { newProgress, startOver, type TaskProgress } from './progress.ts';

/** An order, a slot or hints being served: a resource, what is to be read of it, and what that has done so far. */
export interface Task extends Wish {
  readonly resource: Resource;
  readonly runId: string;
  readonly orderId: string | null;
  readonly lane: Lane;
  /** Compare column by column even where a hash says equal. */
  readonly deep: boolean;
  targets: readonly Slice[];
  allowance: number;
  /** Rows that may be deleted beyond the deletion limit. */
  accepted: number;
  readonly counts: Counts;
  readonly findings: Findings;
  readonly progress: TaskProgress;
  counted: number | null;
  absent: boolean;
  /** A newer tick waits for its end: nothing more is begun for it. */
  overtaken: boolean;
  /** How often what was given up was taken up again. */
  lookedAgain: number;
  /** Stops this task's readings. */
  readonly abort: AbortController;
  readonly underWay: Set<UnderWay>;
  /** What keeps the task from a good end, though the rest goes on. */
  failure: SluiceError | null;
}

/** A slice being read. What was committed of it stands with its cursor, so the next reading of it goes on there. */
export interface UnderWay {
  /** Once aborted, it asks for nothing more; what is in flight is still committed. */
  readonly room: AbortController;
  readonly abort: AbortController;
}

/** What `verify` found, by key. */
export interface Findings {
  readonly absent: Set<string>;
  readonly different: Set<string>;
  readonly extra: Set<string>;
  /** All rows of a list that does not show their dates: one that a window lacks may have moved to another. */
  readonly shown: Set<string>;
  /** Records that do not parse. */
  readonly unreadable: Set<string>;
}

export function createTask(
  given: Pick<Task, 'kind' | 'resource' | 'runId' | 'orderId' | 'since' | 'lane' | 'allowance'> & Partial<Task>,
): Task {
  return {
    from: null,
    to: null,
    reportOnly: false,
    deep: false,
    accepted: 0,
    targets: [],
    counts: noCounts(),
    findings: { absent: new Set(), different: new Set(), extra: new Set(), shown: new Set(), unreadable: new Set() },
    progress: newProgress(),
    counted: null,
    absent: false,
    overtaken: false,
    lookedAgain: 0,
    abort: new AbortController(),
    underWay: new Set(),
    failure: null,
    ...given,
  };
}

export function count(task: Task, more: Partial<Counts>): void {
  addCounts(task.counts, more);
}

/** A source that shows something new about itself all the time is not followed for ever. */
const MOST_NEW_LOOKS = 5;

/** What did not add up may do so now that the list is known better. */
export function lookAgain(task: Task): void {
  if (task.reportOnly || task.lookedAgain++ >= MOST_NEW_LOOKS) return;
  startOver(task.progress);
}

/** The first failure stands; later ones follow from it. */
export function fail(task: Task, error: unknown): void {
  task.failure ??= isKind(error, 'failed', 'fuse', 'refused', 'unavailable', 'unauthorized')
    ? error
    : new SluiceError('failed', error instanceof Error ? error.message : String(error), { cause: error });
}
