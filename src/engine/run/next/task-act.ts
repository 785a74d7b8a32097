import type { Lane } from '../../../budget/budget.ts';
import { SluiceError } from '../../../errors.ts';
import { isPause, MOST_PAGES, wants } from '../../agenda/choice.ts';
import { monthsHold, summedLists } from '../../agenda/past-months.ts';
import { isKnownAbsent, plan } from '../../agenda/plan.ts';
import { lackedByCover } from '../../conclude/claims.ts';
import { countsAfterCover, emptyWindows, mayHideRows } from '../../coverage/hidden-rows.ts';
import { oldestProof, partition, rowsProven } from '../../coverage/list.ts';
import { doubtCounts } from '../../profile/counts.ts';
import type { Observation } from '../../profile/observation.ts';
import { isIdOrdered } from '../../profile/strategy.ts';
import { listIsGone, othersAnswering } from '../../read/fetch/absent-list.ts';
import type { Resource } from '../../resource.ts';
import { dayIn } from '../../slices/date-windows.ts';
import { type Slice, sliceText } from '../../slices/slice.ts';
import type { Task } from '../../task/task.ts';
import { phaseOf, steadyMiscount } from '../../task/task-state.ts';
import type { Act, State } from '../state.ts';

/** An error in what a list has stored fails what is done for it. */
export function orFailure<T>(task: Task, decide: () => T): T | Act {
  try {
    return decide();
  } catch (error) {
    return { kind: 'fail', task, error };
  }
}

/** Readings that may be under way beside one of this lane: a live one has one more, since those of a backfill hold theirs until their slices end. */
export const placesFor = ({ rules, tasks }: State, lane: Lane): number =>
  rules.concurrency + (lane === 'live' && tasks.some(task => task.lane !== 'live' && task.underWay.size > 0) ? 1 : 0);

/** What a task does next. */
export function actFor(state: State, task: Task): Act | 'blocked' {
  const { now, rules, lists } = state;
  const { resource } = task;
  const phase = phaseOf(task.state);
  if (phase === 'ending') return task.underWay.size > 0 ? 'blocked' : (distrust(task) ?? { kind: 'end', task });
  const before = lookUp(task);
  if (before) return before;
  if (waitsForRows(state, task)) return 'blocked';
  if (phase === 'unanswered') return askOthers(state, task);
  const holds = !task.full && monthsHold(resource, lists, now);
  const next = plan({ ...factsFor(task, now), now, today: dayIn(now, rules.timeZone), monthsHold: holds });
  if (next === 'blocked') return next;
  if (isPause(next)) return { kind: 'pause', task, until: next.until };
  if (next !== 'done') return { kind: 'ask', task, choice: next };
  if (task.underWay.size > 0) return 'blocked';
  const recounts = hasToRecount(task);
  // What is being read now may bring rows that a count does not count yet.
  if (recounts && resource.reading.size > 0) return 'blocked';
  return distrust(task) ?? { kind: recounts ? 'recount' : 'end', task };
}

/** What decides about the questions of the task's list, whoever asks. */
export const factsFor = (task: Task, now: number) => ({
  list: task.resource,
  wish: task,
  missing: task.resource.missing ?? [],
  absent: isAbsent(task, now),
});

/** What has to be done before anything is decided about a list. */
export function lookUp(task: Task): Act | null {
  const { resource } = task;
  const slices = slicesOfOtherPartitions(resource);
  if (slices.length > 0)
    return task.state.drops < MOST_DROPS
      ? { kind: 'drop slices', task, slices }
      : { kind: 'fail', task, error: contradictory(resource) };
  return resource.holdsMissing && resource.missing === null ? { kind: 'look for missing', task } : null;
}

/** Where answers contradict each other so often, a task would read all slices of the list again and again. */
export const MOST_DROPS = 5;

const contradictory = ({ name }: Resource): SluiceError =>
  new SluiceError(
    'failed',
    `The answers for ${name} contradict each other: ${MOST_DROPS} times they showed that the list has to be read in another way.`,
    {
      next: 'The next run reads it again. What was seen last: sluice doctor. If this repeats, report it with that output.',
    },
  );

/** Slices that do not fit the order or filters of the list any more. */
function slicesOfOtherPartitions({ entries, reading, strategy }: Resource): Slice[] {
  if (reading.size > 0) return [];
  const kinds = ['id', 'date', 'whole'].filter(kind => kind !== strategy.partition);
  return [...entries.values()].flatMap(({ slice }) => (kinds.includes(slice.by) ? slice : []));
}

/** Whether the source is known not to offer the list. */
export const isAbsent = (task: Task, now: number): boolean =>
  task.state.presence === 'absent' || isKnownAbsent(task.resource, task, now);

/** Whether parts of the list that the task wants were never read and not given up. */
export function hasUnread(task: Task): boolean {
  const { failure, presence, done } = task.state;
  if (failure !== null || presence !== 'assumed') return false;
  const unread = partition(task.resource).filter(({ provenAt }) => provenAt === null);
  return unread.some(({ slice }) => wants(task, slice) && !done.has(sliceText(slice)));
}

/** Were the source's counts off by the same number again and again? */
export function doubtOf({ reportOnly, state, resource }: Task): Observation | null {
  const miscount = reportOnly || state.countJudged ? null : steadyMiscount(state);
  return miscount && doubtCounts(resource.profile, miscount.slice, miscount.by);
}

function distrust(task: Task): Act | null {
  const doubt = doubtOf(task);
  return doubt ? { kind: 'distrust', task, doubt } : null;
}

/** Whether the count must be asked for at the end. */
const hasToRecount = (task: Task): boolean => rowsWaitForCount(task) || mayCountHidden(task);

/** A task that has a count from before it read all that it counts. */
const countsBefore = ({ kind, reportOnly }: Task): boolean => kind === 'sync' || (kind === 'verify' && !reportOnly);

/** Rows that all windows lack are deleted only once the list was counted. */
function rowsWaitForCount(task: Task): boolean {
  const { reportOnly, resource, state } = task;
  // Others have no count from before the cover: theirs agrees only with that of the windows.
  const mayAgree = countsBefore(task) || windowsMayHoldAll(resource);
  const isOpen = !reportOnly && !state.countAsked && mayAgree && countsAfterCover(resource);
  return isOpen && lackedByCover(resource, resource.missing ?? []) > 0;
}

/** The source may count rows that no window shows, and the task has read all that could explain them otherwise. */
function mayCountHidden(task: Task): boolean {
  const { kind, resource, since } = task;
  if (!mayHideRows(resource, resource.missing?.length ?? 0) || (resource.total == null && kind !== 'verify'))
    return false;
  if (countsBefore(task)) return true;
  const isById = resource.strategy.partition === 'id';
  const knowsNew = !isById && isIdOrdered(resource.profile) && reachedKnownRows(resource);
  const knowsAll = knowsNew || (oldestProof(resource) ?? 0) >= since || mayHaveBeenOut(resource);
  return kind === 'slot' && knowsAll && (isById || (resource.total ?? 0) > rowsProven(resource));
}

/** Windows that leave nothing out may have been empty only because the source was out of order. */
const mayHaveBeenOut = (resource: Resource): boolean =>
  windowsMayHoldAll(resource) && emptyWindows(resource).length > 0;

/** Windows, whose counts are believed, were not seen to leave rows out. */
const windowsMayHoldAll = ({ profile }: Resource): boolean => profile.counts === null && !profile.leavesOut;

/** The last reading of the newest end came to rows that were stored: where they are ordered by id, it overlooked no new one. */
const reachedKnownRows = ({ entries }: Resource): boolean =>
  (entries.get(sliceText({ by: 'newest' }))?.requests ?? MOST_PAGES) < MOST_PAGES;

/** The task only waits until it is decided whether it reads everything; no current reading blocks it. */
export const waitsForOtherLists = (task: Task): boolean =>
  task.kind === 'sync' && task.state.readsAll === null && !hasUnread(task);

/**
 * A report is read after the lists that it sums up: in a sync, so that it follows what that sync finds, and at first, since what their first
 * readings bring would count as changed and every month would be read a second time.
 */
function waitsForRows({ tasks, lists }: State, task: Task): boolean {
  const rows = summedLists(task.resource, lists);
  const goFirst = tasks.filter(other => other.lane === 'live' && rows.includes(other.resource));
  // Until everything was read once, the syncs wait to decide how much they read again: waiting for all of one would be in vain.
  if (hasUnread(task)) return goFirst.some(hasUnread);
  return task.kind === 'sync' && goFirst.some(({ kind }) => kind === 'sync');
}

/** A list that answered 404 waits until another list is answered. If none is, the address is wrong. */
function askOthers(state: State, task: Task): Act | 'blocked' {
  const { now: at, begunAt, tasks, lists } = state;
  const { resource } = task;
  if (othersAnswering(resource, lists, { at, begunAt }).length > 0) return { kind: 'answered', task };
  const others = tasks.filter(other => other.resource !== resource && !waitsForRows(state, other));
  const waits = others.some(other => other.state.presence !== 'unanswered' && !other.state.failure);
  return waits ? 'blocked' : { kind: 'fail', task, error: listIsGone(resource) };
}
