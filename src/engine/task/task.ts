import type { Lane } from '../../budget/budget.ts';
import { codeOf, isKind, SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { addCounts, type Counts, noCounts } from '../../warehouse/ledgers/runs.ts';
import type { Wish } from '../agenda/choice.ts';
import type { Resource } from '../resource.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import { newProgress, startOver, type TaskProgress } from './progress.ts';

/** An order, a slot or hints being served: a resource, what to read of it, and the results so far. */
export interface Task extends Wish {
  readonly resource: Resource;
  readonly runId: string;
  readonly orderId: string | null;
  readonly lane: Lane;
  /** Compare each column even if the hashes are equal. */
  readonly deep: boolean;
  /** It reads everything again, whatever that costs. */
  readonly full: boolean;
  /** A sync reads everything again; null until that is decided, once for each. */
  readsAll: boolean | null;
  targets: readonly Slice[];
  allowance: number;
  /** Rows that may be deleted beyond the loss limit. */
  accepted: number;
  /** Columns and child fields whose losses are accepted. */
  readonly acceptLosses: readonly string[];
  readonly counts: Counts;
  readonly findings: Findings;
  readonly progress: TaskProgress;
  counted: number | null;
  absent: boolean;
  /** The source answered 404 before it answered for any other list: only they tell whether its address is right. */
  unanswered: boolean;
  /** The tick before ended beyond the loss limit: this one does, too, while as many rows are missing. */
  readonly wasHeldBack: boolean;
  /** Why nothing more starts for it: a newer tick waits, nothing is left of the request limit, or an error. */
  closed: 'overtaken' | 'nothing left' | 'broken' | null;
  /** How often slices that were given up were tried again. */
  lookedAgain: number;
  /** Stops this task's readings. */
  readonly abort: AbortController;
  readonly underWay: Set<UnderWay>;
  /** Why the task will fail, although the rest of it goes on. */
  failure: SluiceError | null;
}

/** A slice being read. Its cursor holds the committed position, where the next reading continues. */
export interface UnderWay {
  /** Once aborted, the reading sends no more requests; answers in flight are still committed. */
  readonly room: AbortController;
  readonly abort: AbortController;
}

/** What `verify` found, by key. */
export interface Findings {
  readonly absent: Set<string>;
  readonly different: Set<string>;
  readonly extra: Set<string>;
  /** All rows of a list that hides their dates: a row that one window lacks may have moved to another. */
  readonly shown: Set<string>;
  /** Records that do not parse. */
  readonly unreadable: Set<string>;
}

export function createTask(
  given: Pick<Task, 'kind' | 'resource' | 'runId' | 'orderId' | 'since' | 'lane'> & Partial<Task>,
): Task {
  return {
    from: null,
    to: null,
    reportOnly: false,
    deep: false,
    full: false,
    accepted: 0,
    acceptLosses: [],
    readsAll: null,
    targets: [],
    allowance: 0,
    counts: noCounts(),
    findings: { absent: new Set(), different: new Set(), extra: new Set(), shown: new Set(), unreadable: new Set() },
    progress: newProgress(),
    counted: null,
    absent: false,
    unanswered: false,
    wasHeldBack: false,
    closed: null,
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

/** Bounds the attempts on a source that keeps changing its behaviour. */
const MOST_NEW_LOOKS = 5;

/** Slices that did not add up may do so now that more is known about the list. */
export function lookAgain(task: Task): void {
  if (task.reportOnly || task.lookedAgain++ >= MOST_NEW_LOOKS) return;
  startOver(task.progress);
}

/** True for errors of the whole source, or of whoever reads it; any other is one of a single list. */
export const stopsSource = (error: unknown): boolean =>
  isKind(error, 'stopped', 'quota', 'unauthorized', 'configuration', 'database', 'stale');

/** Records the first failure; later ones follow from it. */
export function fail(task: Task, error: unknown, slice?: Slice): void {
  task.failure ??= isKind(error, 'failed', 'fuse', 'refused', 'unavailable', 'unauthorized')
    ? error
    : unexpected(task.resource.name, slice, error);
}

/** An error in a step of one list fails its task, and the other lists go on. Throws one that stops the whole source. */
export function failList({ log }: { readonly log: Log }, task: Task, error: unknown, slice?: Slice): void {
  if (stopsSource(error)) throw error;
  // Only the stack: an error of Postgres also holds the values of the row.
  if (!(error instanceof SluiceError) && task.failure === null) {
    const { stack } = error instanceof Error ? error : new Error(String(error));
    log.error({ resource: task.resource.name, ...(slice && { slice: sliceText(slice) }), stack }, 'unexpected error');
  }
  fail(task, error, slice);
}

/** Nothing more starts for a task that cannot go on. */
export function close(task: Task, error: unknown): void {
  fail(task, error);
  task.closed ??= 'broken';
}

function unexpected(list: string, slice: Slice | undefined, error: unknown): SluiceError {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const where = slice === undefined ? list : `${list} "${sliceText(slice)}"`;
  return new SluiceError('failed', `${where}: unexpected error: ${message} (${codeOf(error) || name}).`, {
    next: 'What was read is kept; the next run tries again. Unless a trigger or constraint of yours raised it, please report this as a bug in Sluice.',
    cause: error,
  });
}
