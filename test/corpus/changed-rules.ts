import { countsAfterCover } from '../../src/engine/coverage/hidden-rows.ts';
import { type List, pageSize, partition, watched } from '../../src/engine/coverage/list.ts';
import { partsIn } from '../../src/engine/coverage/prove.ts';
import { confirmsByWatched, unreadBeside } from '../../src/engine/coverage/targeted.ts';
import { isIdOrdered } from '../../src/engine/profile/strategy.ts';
import type { Entry } from '../../src/engine/slices/coverage-entry.ts';
import { parseSlice, sliceText } from '../../src/engine/slices/slice.ts';
import { listOf, type RecordedConclusion, type RecordedEntry, type RecordedPlan } from './recorded.ts';

/**
 * Recorded choices that the agenda decides differently by design. The recorder's engine had rules of its own for what is one formula now:
 * - A slot had an allowance of requests. It spent them on reading slices again, on totals and on confirming missing rows, and left slices
 *   that were never read to the next slot once they were spent. The agenda asks all of that between ticks; a slot reads only what is
 *   watched, what was never read, what is due and the end where an id list grows, whatever that costs.
 * - Rows without a date were read by whole lists where one answer without a count seemed to be all of it. Now the windows have to agree.
 * - A part that the task had proven was read again to confirm a missing row before the others were proven. Now the task finishes first.
 * - What all windows of a counted list lacked was concluded by reading one of them once more. Now the count concludes.
 * - The neighbours of a missing row were asked at once. Now the newest end comes first, where nothing is counted and it was not read since.
 * - Windows were gathered into several pages where no count and no order could make these add up. Now they fit into one.
 * - Where nothing counts a list in the order of ids, its neighbours confirmed a missing row. Now a cover does: rows may be moved by hand.
 * - One turn in five read the oldest slice and another the best one although some were never read. Now those come first.
 */
export function isDecidedOtherwise(recorded: RecordedPlan): boolean {
  const { task, next, list } = recorded;
  if (isUnprovenBody(recorded)) return true;
  const known = listOf(list);
  if (typeof next === 'object' && next.gathered && isGatheredInVain(recorded, next.slice)) return true;
  const unread = partition(known).filter(({ provenAt }) => provenAt === null);
  const isChoice = typeof next === 'object';
  if (task.kind === 'slot') {
    if (isChoice && !isLeftToSlots(recorded, next.slice)) return true;
    const isUrgent = isChoice && isWatched(recorded, next.slice);
    return task.allowance <= 0 && unread.length > 0 && next !== 'blocked' && !isUrgent;
  }
  if (isChoice && next.slice !== 'newest' && recorded.settled.includes('confirm cover') && countsAfterCover(known))
    return true;
  const missing = recorded.missing ?? [];
  const isBeside = isChoice && missing.some(({ key }) => next.slice === `id ${key}..${key}`);
  if (missing.length > 0 && isBeside && wasConfirmedByNeighbours(known)) return true;
  const isConfirmed = recorded.settled.some(text => missing.some(({ key }) => text === `confirm ${key}`));
  const asksNewest = missing.some(row => ['newest', 'id'].includes(unreadBeside(known, row)?.by ?? ''));
  if (isConfirmed && asksNewest) return true;
  const isRead = isChoice && partition(known).some(entry => sliceText(entry.slice) === next.slice && entry.provenAt);
  const isProven = (text: string) =>
    partsIn(known, parseSlice(text)).every(({ provenAt }) => (provenAt ?? 0) >= task.since);
  const isUnfinished = partition(known).some(
    ({ slice, provenAt }) => (provenAt ?? 0) < task.since && !task.settled.includes(sliceText(slice)),
  );
  if (isRead && isUnfinished && missing.length > 0 && isProven(next.slice)) return true;
  const wasTurn = list.turn % 5 >= 3;
  return task.kind === 'sync' && wasTurn && isRead && unread.length > 0;
}

function isGatheredInVain({ list }: RecordedPlan, slice: string): boolean {
  const known = listOf(list);
  if (known.total !== null || isIdOrdered(known.profile)) return false;
  const parts = partsIn(known, parseSlice(slice));
  const rows = parts.reduce((sum, part) => sum + (part.rows ?? 0), 0);
  // Any of those that were read stands for all.
  return rows > 0.85 * pageSize(known) && parts.some(({ provenAt }) => provenAt === null);
}

/** A list that is read in one answer without a count although some rows have no date, and nothing agreed that this is all of it. */
export function isUnprovenBody({ list: { traits } }: { readonly list: Pick<RecordedPlan['list'], 'traits'> }): boolean {
  return traits.paging === 'ignored' && traits.undated === 'yes' && traits['one answer'] !== 'complete';
}

/**
 * A window asked for by just its last day lacked some rows of that day and showed others. The recorder's engine believed that; now that day is
 * asked for with a day more.
 */
export function showsLastDayInPart({ step: { end }, io }: RecordedConclusion): boolean {
  if (end?.kind !== 'proven' || !end.narrow?.includes('date to')) return false;
  const last = end.slice.slice(-10);
  const days = io.filter(([statement]) => statement === 'valuesOf').map(([, , result]) => result as readonly string[]);
  return days.length >= 2 && days.slice(0, 2).every(each => each.includes(last));
}

const wasConfirmedByNeighbours = ({ profile, strategy }: Pick<List, 'profile' | 'strategy'>): boolean =>
  strategy.confirmation === 'cover' && isIdOrdered(profile) && profile.paging === 'until empty';

/**
 * Rows were deleted because all windows lacked them, or where nothing counts the list, because their neighbours did. The recorder's engine believed
 * that; now the list itself has to agree, by its count or by what it shows: a date filter may leave rows out, and a row may have been moved by hand.
 */
export function deletesTooSoon({ list, io }: RecordedConclusion): boolean {
  const known = listOf(list);
  const deletes = io.some(([name, args]) => name === 'deleteRows' && (args as [string[]])[0].length > 0);
  const byWindows = known.strategy.partition === 'date' && known.strategy.confirmation === 'cover';
  return deletes && (byWindows || wasConfirmedByNeighbours(known));
}

/** The watched values that a sync left out, by their text. Where these have a say in deletions, it reads them now. */
export function valuesLeftOut(recorded: RecordedPlan): string[] {
  const { list, task, next } = recorded;
  const known = listOf(list);
  const isAsked = typeof next === 'object' && isWatched(recorded, next.slice);
  if (task.kind !== 'sync' || isAsked || !confirmsByWatched(known)) return [];
  return watched(known).flatMap(({ slice }) => (slice.by === 'value' ? [sliceText(slice)] : []));
}

/** Whether a slot may still choose the slice. */
export function isLeftToSlots(recorded: RecordedPlan, text: string): boolean {
  const read = partsIn(listOf(recorded.list), parseSlice(text));
  const isLeft = ({ slice, provenAt, dueSince }: Entry) =>
    provenAt === null ||
    (slice.by === 'id' && slice.to === null && provenAt < recorded.task.since) ||
    (dueSince !== null && dueSince > provenAt && dueSince <= recorded.now);
  return isWatched(recorded, text) || (read.length > 0 && read.every(isLeft));
}

/** Whether the slice is watched, and was not read since the tick. */
const isWatched = ({ list, task }: RecordedPlan, text: string): boolean =>
  !task.settled.includes(text) &&
  watched(listOf(list)).some(({ slice, readAt }) => sliceText(slice) === text && (readAt ?? 0) < task.since);

/** A choice without whether it counts against an allowance: of a slot, all did, and now watched values do. */
export const withoutAllowance = <Next>({ task }: RecordedPlan, next: Next): Next =>
  task.kind === 'slot' && typeof next === 'object' && next !== null && 'counted' in next
    ? { ...next, counted: false }
    : next;

/** The recorder's choice as it would be now: a list that was never read is asked for two of its newest pages only. */
export function firstPages({ list }: RecordedPlan, next: RecordedPlan['next']): RecordedPlan['next'] {
  const isUnread = partition(listOf(list)).every(({ provenAt }) => provenAt === null);
  return isUnread && typeof next === 'object' && next.slice === 'newest' && next.answers === 10
    ? { ...next, answers: 2 }
    : next;
}

/** What is concluded of a slice, without how often its rows change: that is learnt by other rules. */
export const withoutRates = ([slice, provenAt, readAt, requests, rows, , , ...due]: RecordedEntry) =>
  [slice, provenAt, readAt, requests, rows, ...due] as const;

/** The order in which slices are read again follows from their rates, so any of those that were read stands for all. */
export function withoutOrder<N>({ list, task }: RecordedPlan, next: N, text: string | null): N | 'one that was read' {
  if (text === null || task.kind === 'hint') return next;
  const parts = partsIn(listOf(list), parseSlice(text));
  return parts.length > 0 && parts.every(({ provenAt }) => provenAt !== null) ? 'one that was read' : next;
}

/** What the recorder's engine noted of a watched slice: each page of a reading counted as one. */
export const requestsNoted = (rows: number, pageSize: number): number => Math.max(Math.ceil(rows / pageSize), 1);
