import { isKind, type SluiceError } from '../../errors.ts';
import { NO_PROGRESS, type TaskProgress } from '../agenda/choice.ts';

/** Readings of a slice that did not add up, after which a task gives it up. */
export const MOST_TRIES = 3;

/** What has happened to a task, as far as it decides what follows. Each event replaces it; see `applyEvent`. */
export interface TaskState extends TaskProgress {
  /**
   * Whether the source offers the list. `unanswered`: it answered 404 before it answered for any other list; only they tell whether its
   * address is right.
   */
  readonly presence: 'assumed' | 'unanswered' | 'absent';
  /** Why nothing more starts for it: a newer tick waits, nothing is left of the request limit, or an error. */
  readonly closed: 'overtaken' | 'nothing left' | 'broken' | null;
  /** Why the task will fail, although the rest of it goes on. */
  readonly failure: SluiceError | null;
  /** Rows that may be deleted beyond the loss limit. */
  readonly accepted: number;
  /** How often slices that were given up were tried again. */
  readonly lookedAgain: number;
  /** How often all its slices were dropped, as the list is read in another way. */
  readonly drops: number;
  /** The rows were counted again after every window was read. */
  readonly countAsked: boolean;
  /** As of the last count (epoch ms), if windows leave none of the list's rows out by it; else null. */
  readonly windowsHoldAllAt: number | null;
  /** How many readings of each slice proved nothing, by slice text. */
  readonly tries: ReadonlyMap<string, number>;
  /** How many readings of each slice were contradicted by others, by slice text. */
  readonly doubts: ReadonlyMap<string, number>;
  /** First and last days of windows that lacked rows of them when they were asked for by just their days; see `edgeText`. */
  readonly doubtedEdges: ReadonlySet<string>;
  /** By how many rows the count of a slice was off, or which rows it did not fit, and in how many readings each time, by slice text. */
  readonly miscounts: ReadonlyMap<string, ReadonlyMap<Miscount['by'], number>>;
  /** What the task found of the source's counts was stored: another finding is left to the next task. */
  readonly countJudged: boolean;
}

export const NEW_STATE: TaskState = {
  ...NO_PROGRESS,
  presence: 'assumed',
  closed: null,
  failure: null,
  accepted: 0,
  lookedAgain: 0,
  drops: 0,
  countAsked: false,
  windowsHoldAllAt: null,
  tries: new Map(),
  doubts: new Map(),
  doubtedEdges: new Set(),
  miscounts: new Map(),
  countJudged: false,
};

/** What a task may still start. `ending`: nothing, as it was closed, the source is down, or the list as a whole has changed. */
export const phaseOf = ({ closed, failure, presence }: TaskState): 'open' | 'unanswered' | 'absent' | 'ending' =>
  closed !== null || isKind(failure, 'unavailable', 'failed') ? 'ending' : presence === 'assumed' ? 'open' : presence;

/** A count that does not fit its slice: `by` so many rows, or, as a digest, these rows. */
export interface Miscount {
  readonly slice: string;
  readonly by: number | string;
}

/**
 * A slice whose count was off by the same number again and again, or which showed the same rows again and again, whatever it counted. A reading may
 * try several addresses, each with a number of its own.
 */
export function steadyMiscount({ miscounts }: TaskState): Miscount | null {
  for (const [slice, counts] of miscounts)
    for (const [by, times] of counts) if (times >= MOST_TRIES) return { slice, by };
  return null;
}

/** A measure of the progress of a task that only compares. */
export const comparedSoFar = ({ done, asked, intervals, coverAsked, countAsked }: TaskState): number =>
  done.size + asked.size + intervals.length + coverAsked.size + Number(countAsked);
