import type { Lane } from '../../budget/budget.ts';
import { isKind, SluiceError } from '../../errors.ts';
import { addCounts, type Counts, noCounts } from '../../warehouse/ledgers/runs.ts';
import type { Resource } from '../resource.ts';
import type { Day } from '../slices/date-windows.ts';
import type { IdSlice, Slice } from '../slices/slice.ts';

/** Readings of a slice that did not add up before a task lets it be. */
export const MOST_TRIES = 3;

export type TaskKind = 'sync' | 'slot' | 'hint' | 'backfill' | 'verify';

/** An order, a slot or hints being served: a resource, what is to be read of it, and what that has done so far. */
export interface Task {
  readonly kind: TaskKind;
  readonly resource: Resource;
  readonly runId: string;
  readonly orderId: string | null;
  /** What is proven since this moment (epoch ms) needs no reading. */
  readonly since: number;
  readonly from: Day | null;
  readonly to: Day | null;
  readonly lane: Lane;
  /** `verify` without `--repair`: differences are found and rolled back. */
  readonly reportOnly: boolean;
  /** Compare column by column even where a hash says equal. */
  readonly deep: boolean;
  /** All that is read, for hints; the first comes next. */
  readonly targets: Slice[];
  /** Requests it may spend on reading again what was read before. */
  allowance: number;
  /** Rows that may be deleted although the fuse forbids it. */
  accepted: number;
  readonly counts: Counts;
  readonly findings: Findings;
  /** Slices done for this task though nothing was proven: targeted ones by choice, others after several readings. */
  readonly settled: Set<string>;
  readonly tries: Map<string, number>;
  /** Rows that the source said the whole list has when the task first asked; null before. */
  counted: number | null;
  /** The source does not offer the list: there is nothing to read. */
  absent: boolean;
  /** A newer tick waits for its end: nothing more is begun for it. */
  overtaken: boolean;
  /** How often what was given up was taken up again. */
  lookedAgain: number;
  /** Id intervals read by a task that only reports. */
  readonly intervals: IdSlice[];
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
    settled: new Set(),
    tries: new Map(),
    counted: null,
    absent: false,
    overtaken: false,
    lookedAgain: 0,
    intervals: [],
    abort: new AbortController(),
    underWay: new Set(),
    failure: null,
    ...given,
  };
}

export function count(task: Task, more: Partial<Counts>): void {
  addCounts(task.counts, more);
}

/** What did not add up may do so now that the list is known better. A source that changes its habits all the time is not followed. */
export function lookAgain(task: Task): void {
  if (task.reportOnly || task.lookedAgain++ >= 5) return;
  task.tries.clear();
  task.settled.clear();
}

/** The first failure stands; later ones follow from it. */
export function fail(task: Task, error: unknown): void {
  task.failure ??= isKind(error, 'failed', 'fuse', 'refused', 'unavailable', 'unauthorized')
    ? error
    : new SluiceError('failed', error instanceof Error ? error.message : String(error), { cause: error });
}

export const wants = (task: Pick<Task, 'from' | 'to'>, slice: Slice): boolean =>
  slice.by !== 'date' || (task.from === null && task.to === null)
    ? true
    : (slice.from === null || task.to === null || slice.from <= task.to) &&
      (slice.to === null || task.from === null || task.from <= slice.to);
