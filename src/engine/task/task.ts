import type { Lane } from '../../budget/budget.ts';
import { codeOf, isKind, SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { type Counts, noCounts } from '../../warehouse/ledgers/runs.ts';
import type { Wish } from '../agenda/choice.ts';
import type { Resource } from '../resource.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import { applyEvent, type TaskEvent } from './apply-event.ts';
import { NEW_STATE, type TaskState } from './task-state.ts';

/** An order, a slot or hints being served, or a list's questions between slots: a resource, what to read of it, and the results so far. */
export interface Task extends Wish {
  readonly resource: Resource;
  readonly runId: string;
  readonly orderId: string | null;
  readonly lane: Lane;
  /** Compare each column even if the hashes are equal. */
  readonly deep: boolean;
  /** It reads everything again, whatever that costs. */
  readonly full: boolean;
  /** Columns and child fields whose losses are accepted. */
  readonly acceptLosses: readonly string[];
  /** Rows that earlier runs of its order have deleted. */
  readonly deletedBefore: number;
  /** The tick before ended beyond the loss limit: this one does, too, while as many rows are missing. */
  readonly wasHeldBack: boolean;
  /** What it has done so far. */
  readonly state: TaskState;
  readonly counts: Counts;
  /** Added to in place: it may hold a key for each row of the list. */
  readonly findings: Findings;
  /** Stops this task's readings. */
  readonly abort: AbortController;
  readonly underWay: Set<UnderWay>;
}

/** A slice being read. Its cursor holds the committed position, where the next reading continues. */
export interface UnderWay {
  /** Once aborted, the reading sends no more requests; answers in flight are still committed. */
  readonly stopAsking: AbortController;
  /** Once aborted, the reading ends at once. */
  readonly abort: AbortController;
}

/** What `verify` found, by key. */
export interface Findings {
  /** Shown by the source, and not stored. */
  readonly absent: Set<string>;
  /** Stored otherwise than the source shows them. */
  readonly different: Set<string>;
  /** Stored, and not shown by the source. */
  readonly extra: Set<string>;
  /** All rows of a list that hides their dates: a row that one window lacks may have moved to another. */
  readonly shown: Set<string>;
  /** Records that do not parse. */
  readonly unreadable: Set<string>;
}

export function createTask(
  given: Pick<Task, 'kind' | 'resource' | 'runId' | 'orderId' | 'since' | 'lane'> & Partial<Omit<Task, 'state'>>,
  state: Partial<TaskState> = {},
): Task {
  return {
    from: null,
    to: null,
    reportOnly: false,
    deep: false,
    full: false,
    acceptLosses: [],
    deletedBefore: 0,
    wasHeldBack: false,
    state: { ...NEW_STATE, ...state },
    counts: noCounts(),
    findings: { absent: new Set(), different: new Set(), extra: new Set(), shown: new Set(), unreadable: new Set() },
    abort: new AbortController(),
    underWay: new Set(),
    ...given,
  };
}

/** The only way to change the state of a task: to all others it is read-only. */
export function update(task: { state: TaskState }, event: TaskEvent): void {
  task.state = applyEvent(task.state, event);
}

/** True for errors of the whole source, or of whoever reads it; any other is one of a single list. */
export const stopsSource = (error: unknown): boolean =>
  isKind(error, 'stopped', 'quota', 'unauthorized', 'configuration', 'database', 'stale');

/** An error in a step of one list fails its task, and the other lists go on. Throws one that stops the whole source. */
export function failList({ log }: { readonly log: Log }, task: Task, error: unknown, slice?: Slice): void {
  if (stopsSource(error)) throw error;
  // Only the stack: an error of Postgres also holds the values of the row.
  if (!(error instanceof SluiceError) && task.state.failure === null) {
    const { stack } = error instanceof Error ? error : new Error(String(error));
    log.error({ resource: task.resource.name, ...(slice && { slice: sliceText(slice) }), stack }, 'unexpected error');
  }
  const isExpected = isKind(error, 'failed', 'fuse', 'refused', 'unavailable');
  update(task, { kind: 'failed', error: isExpected ? error : unexpected(task.resource.name, slice, error) });
}

function unexpected(list: string, slice: Slice | undefined, error: unknown): SluiceError {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const where = slice === undefined ? list : `${list} "${sliceText(slice)}"`;
  return new SluiceError('failed', `${where}: unexpected error: ${message} (${codeOf(error) || name}).`, {
    next: 'What was read is kept; the next run tries again. Unless a trigger or constraint of yours raised it, please report this as a bug in Sluice.',
    cause: error,
  });
}
