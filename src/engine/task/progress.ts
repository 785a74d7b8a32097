import type { Progress } from '../agenda/choice.ts';
import { uncovered } from '../slices/id-ranges.ts';
import type { IdSlice } from '../slices/slice.ts';

/** Readings of a slice that did not add up, after which a task gives it up. */
export const MOST_TRIES = 3;

/** The results of a task so far. Decisions read it; only the loop and commits change it. */
export interface TaskProgress extends Progress {
  readonly done: Set<string>;
  readonly asked: Set<string>;
  readonly coverAsked: Set<string>;
  readonly pauses: Set<number>;
  readonly justLacked: Map<string, Set<string>>;
  /** The rows were counted again after every window was read. */
  countAsked: boolean;
  readonly intervals: IdSlice[];
  /** How many readings of each slice proved nothing, by slice text. */
  readonly tries: Map<string, number>;
  /** How many readings of each slice were contradicted by others, by slice text. */
  readonly doubts: Map<string, number>;
  /** By how many rows the count of a slice was off, and in how many answers each time, by slice text. */
  readonly miscounts: Map<string, Map<number, number>>;
}

export const newProgress = (): TaskProgress => ({
  done: new Set(),
  asked: new Set(),
  coverAsked: new Set(),
  pauses: new Set(),
  justLacked: new Map(),
  countAsked: false,
  intervals: [],
  tries: new Map(),
  doubts: new Map(),
  miscounts: new Map(),
});

/** Opens all slices again, including those that were done or given up. */
export function startOver(progress: TaskProgress): void {
  const { done, asked, coverAsked, tries, doubts, miscounts } = progress;
  for (const each of [done, asked, coverAsked, tries, doubts, miscounts]) each.clear();
  progress.countAsked = false;
}

/** Counts a reading that proved nothing. After some attempts the slice is given up. */
export function noteTry({ tries, done }: TaskProgress, slice: string): void {
  const count = (tries.get(slice) ?? 0) + 1;
  tries.set(slice, count);
  if (count >= MOST_TRIES) done.add(slice);
}

export function noteMiscount({ miscounts }: TaskProgress, slice: string, by: number): void {
  const counts = miscounts.get(slice) ?? new Map<number, number>();
  counts.set(by, (counts.get(by) ?? 0) + 1);
  miscounts.set(slice, counts);
}

/**
 * A slice whose count was off by the same number again and again. A reading may try several addresses, each with a number of its
 * own.
 */
export function steadyMiscount({ miscounts }: TaskProgress): { slice: string; by: number } | null {
  for (const [slice, counts] of miscounts)
    for (const [by, times] of counts) if (times >= MOST_TRIES) return { slice, by };
  return null;
}

/** Notes ids that a report has compared. Those that were compared before are no progress. */
export function noteInterval({ intervals }: TaskProgress, slice: IdSlice): void {
  if (uncovered(slice, intervals).length > 0) intervals.push(slice);
}

/** Further readings of the slice would prove nothing either. */
export function giveUp({ tries }: TaskProgress, slice: string): void {
  tries.set(slice, MOST_TRIES);
}

/** What was given up has added up after all. */
export function noteProven({ tries }: TaskProgress, slices: readonly string[]): void {
  for (const slice of slices) tries.delete(slice);
}

/** Counts a contradicted reading. The rows that it lacked may be asked for again. */
export function noteDoubt({ doubts, asked }: TaskProgress, slice: string, rows: readonly string[]): void {
  doubts.set(slice, (doubts.get(slice) ?? 0) + 1);
  for (const key of rows) asked.delete(key);
}

/** A measure of the progress of a task that only compares. */
export const comparedSoFar = ({ done, asked, intervals, coverAsked, countAsked }: TaskProgress): number =>
  done.size + asked.size + intervals.length + coverAsked.size + Number(countAsked);
