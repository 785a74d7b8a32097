import type { List } from './parameters.ts';
import type { Key } from './stream/rows.ts';

/** One request: the first page of the rows of a list from `from` (included) to `to` (not included), in order of place. */
export interface Question {
  readonly list: List;
  readonly from: Key;
  readonly to: Key;
}

export const OLDEST: Key = 0;
export const NEWEST: Key = Number.MAX_SAFE_INTEGER;

export interface Shown {
  readonly id: number;
  readonly place: Key;
  /** Differs whenever the row differs. */
  readonly version: number;
}

export interface Answer {
  readonly question: Question;
  readonly at: number;
  readonly rows: readonly Shown[];
  /** The range holds more rows. They begin at `next`. */
  readonly next: Key | null;
}

/** What to read next, or until when to send nothing. */
export type Move = Question | { readonly untilMs: number };

/** Decides what to read. It sees no clock, no network and no database: time and answers are given to it. */
export interface Policy {
  readonly name: string;
  /**
   * How many readings of its place must lack a row before this policy deletes it from its copy; infinite where it never does.
   * A reading covers a place if the place lies in its range, and before `next`.
   */
  readonly lacks: Readonly<Record<List, number>>;
  next(now: number): Move;
  receive(answer: Answer): void;
}
