import type { Progress } from '../agenda/choice.ts';
import type { IdSlice } from '../slices/slice.ts';

/** Readings of a slice that did not add up before a task gives it up. */
export const MOST_TRIES = 3;

/** What a task's readings have done so far. Decisions read it; only the loop, and what follows a commit, change it. */
export interface TaskProgress extends Progress {
  readonly done: Set<string>;
  readonly asked: Set<string>;
  coverAsked: boolean;
  /** Rows were counted once more, after every window was read. */
  countAsked: boolean;
  readonly intervals: IdSlice[];
  /** Readings of a slice that proved nothing, by its text. */
  readonly tries: Map<string, number>;
  /** Readings of a slice that others contradicted, by its text. */
  readonly doubts: Map<string, number>;
}

export const newProgress = (): TaskProgress => ({
  done: new Set(),
  asked: new Set(),
  coverAsked: false,
  countAsked: false,
  intervals: [],
  tries: new Map(),
  doubts: new Map(),
});

/** All slices are open again, whatever came of them. */
export function startOver(progress: TaskProgress): void {
  for (const each of [progress.done, progress.asked, progress.tries, progress.doubts]) each.clear();
  progress.coverAsked = false;
  progress.countAsked = false;
}

/** A reading of the slice proved nothing; after some tries it is given up. */
export function noteTry({ tries, done }: TaskProgress, slice: string): void {
  const count = (tries.get(slice) ?? 0) + 1;
  tries.set(slice, count);
  if (count >= MOST_TRIES) done.add(slice);
}

/** Further readings of the slice would prove nothing either. */
export function giveUp({ tries }: TaskProgress, slice: string): void {
  tries.set(slice, MOST_TRIES);
}

/** A reading of the slice was contradicted: the rows that it lacked may be asked for again. */
export function noteDoubt({ doubts, asked }: TaskProgress, slice: string, rows: readonly string[]): void {
  doubts.set(slice, (doubts.get(slice) ?? 0) + 1);
  for (const key of rows) asked.delete(key);
}

/** How much of its work a task that only compares has done. */
export const comparedSoFar = ({ done, asked, intervals, coverAsked, countAsked }: TaskProgress): number =>
  done.size + asked.size + intervals.length + Number(coverAsked) + Number(countAsked);
