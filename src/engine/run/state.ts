import type { Choice } from '../agenda/choice.ts';
import type { AgendaRules } from '../agenda/list-facts.ts';
import type { Pace } from '../agenda/pace.ts';
import type { Observation } from '../profile/observation.ts';
import type { Resource } from '../resource.ts';
import type { Slice } from '../slices/slice.ts';
import type { Share } from '../task/apply-event.ts';
import type { Task, UnderWay } from '../task/task.ts';
import type { Agenda, Asked } from './agenda.ts';
import type { LimitSeen } from './limit-seen.ts';

/** What is known when a source's loop decides what it does. Times are those of the database, in epoch milliseconds. */
export interface State {
  readonly now: number;
  readonly begunAt: number;
  readonly rules: Rules;
  readonly lists: readonly Resource[];
  readonly tasks: readonly Task[];
  /** Readings under way. */
  readonly running: number;
  /** Null until something depends on it. */
  readonly limit: LimitSeen | null;
  /** Requests that live readings were granted so far. */
  readonly granted: number;
  readonly agenda: Agenda | null;
  /** The agenda may ask. */
  readonly mayAsk: boolean;
}

interface Rules extends AgendaRules {
  /** Readings at once. */
  readonly concurrency: number;
  readonly noWait?: boolean;
}

/** What the loop does next, one thing at a time. */
export type Act =
  /** `pace`: what the agenda has saved before it asks. */
  | { readonly kind: 'ask'; readonly task: Task; readonly choice: Choice; readonly cost?: number; readonly pace?: Pace }
  | { readonly kind: 'end' | 'recount' | 'look for missing' | 'cut anew'; readonly task: Task }
  /** The source answers for the list, or at least for another one. */
  | { readonly kind: 'answered'; readonly task: Task }
  | { readonly kind: 'fail'; readonly task: Task; readonly error: unknown }
  | { readonly kind: 'pause'; readonly task: Task; readonly until: number }
  /** Slices of another partition than the list has now. */
  | { readonly kind: 'drop slices'; readonly task: Task; readonly slices: readonly Slice[] }
  | { readonly kind: 'distrust'; readonly task: Task; readonly doubt: Observation }
  | { readonly kind: 'give way'; readonly readings: readonly UnderWay[] }
  | { readonly kind: 'share'; readonly shares: ReadonlyMap<Task, Share> }
  | { readonly kind: 'look at the limit' }
  | { readonly kind: 'follow up'; readonly asked: Asked }
  /**
   * `wakeAt`: when the first task that pauses goes on; `askAt`: when the agenda may ask the next question. Null where none does; then only an answer
   * changes anything.
   */
  | { readonly kind: 'wait'; readonly wakeAt: number | null; readonly askAt: number | null; readonly pace?: Pace };
