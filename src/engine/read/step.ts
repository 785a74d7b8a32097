import type { Position, Reached } from '../../source/paging/stable-reading.ts';
import type { BadRecord } from '../../warehouse/rows/quarantine.ts';
import type { KnownAnswer, ShownAnswer } from '../../warehouse/rows/write/known-answers.ts';
import type { Row } from '../../warehouse/rows/write/row.ts';
import type { Edge, Observation } from '../profile/observation.ts';
import type { AskedDays } from '../profile/observe-filter.ts';
import type { Resource } from '../resource.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import type { Day } from '../slices/date-windows.ts';
import type { DateSlice, Slice } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import type { AnswerFields } from './answer/parse-rows.ts';

/** One answer of a reading, ready to be committed. The steps of a reading are committed in order. */
export interface Step {
  readonly resource: Resource;
  readonly task: Task;
  /** The slice being read. It names the reading in the cursor. */
  readonly slice: Slice;
  readonly rows: readonly Row[];
  /** Keys of rows that the reading has shown, and that the step does not write: it will later, or did before. Default: none. */
  readonly held?: readonly string[];
  /** The answer is one that came before: its rows need not be written where they are stored as it showed them. */
  readonly known?: KnownRows | undefined;
  /** The answer is to be known when it comes again, if all of its rows are stored as it shows them. */
  readonly keep?: ShownAnswer | undefined;
  /** Compares every column and child row, even where a hash says they are equal. Default: as the task does. */
  readonly deep?: boolean;
  readonly bad: readonly BadRecord[];
  /** How many of both came with invalid bytes. Default 0. */
  readonly replaced?: number;
  readonly requests: number;
  /** Must be called when the step is committed or dropped. */
  readonly release: () => void;
  /** The position of the reading after this answer, unless it ended. */
  readonly position?: Position;
  /** The reading starts over at the first page: rows seen before no longer count. */
  readonly anew?: boolean;
  readonly end?: End;
  /** The list's own count of its unfiltered rows; null if the answer gave none. */
  readonly total?: number | null;
  /** Whether the source was seen to count as many rows in windows as in the whole list, so that they leave none out. Default: false. */
  readonly windowsHoldAll?: boolean;
  readonly learnt?: readonly Observation[];
  /** Absent where the answer is none of the list. */
  readonly fields?: AnswerFields;
  /** The last day that was asked for, where the reading has ended and showed a row of it. */
  readonly lastDayShown?: Day | undefined;
  /** The reading goes on once the step is committed: by what that changed, or by what other lists hold then. Others are gathered into fewer commits. */
  readonly isAwaited?: boolean;
  /** What is known from now on of slices that were read beside the step's own. */
  readonly beside?: readonly Entry[];
}

/** The rows of an answer that came before, in place of those of the step. */
export interface KnownRows extends Pick<KnownAnswer, 'keys' | 'checksum'> {
  /** What the step is where something else is stored by now. */
  readonly instead: () => Pick<Step, 'rows' | 'bad' | 'replaced' | 'fields' | 'keep' | 'deep'>;
}

export type End =
  /**
   * `slice` was shown in full: stored rows that it did not show have left it. `narrow`: the edges that were not padded by a
   * day. `reached`: the end of the list, where the slice has it and no filter was asked for.
   */
  | {
      readonly kind: 'proven';
      readonly slice: Slice;
      readonly startedAt: string;
      readonly narrow?: readonly Edge[];
      readonly reached?: Reached | undefined;
      /** Pages that the rows came in, and those asked for beyond. */
      readonly pages?: number | undefined;
      /** What follows instead if a window without a count lacks stored rows: the source may show fewer rows at once than before. */
      readonly ifLacking?: End | undefined;
      /** The days that a window was asked for by. */
      readonly asked?: AskedDays;
      /** What follows instead if the filter may have left out rows that a shorter window shows; see `mayBeLeftOut`. */
      readonly ifLeftOut?: End | undefined;
    }
  /** The slice is too large for one reading. `total`: the source's count of its rows. */
  | { readonly kind: 'split'; readonly into: readonly DateSlice[]; readonly total: number | null }
  /** Several slices requested together hold more rows than expected; their expected sizes are corrected. */
  | { readonly kind: 'larger'; readonly total: number }
  /** A targeted slice was read. `complete`: rows that it did not show have left it. */
  | { readonly kind: 'targeted'; readonly complete: boolean; readonly startedAt: string }
  /** The source has no row with this key. */
  | { readonly kind: 'gone'; readonly key: string; readonly at: string }
  /** The source's totals for a month. */
  | { readonly kind: 'total'; readonly said: Readonly<Record<string, unknown>>; readonly startedAt: string }
  /** The answers do not add up. Their rows are kept, and nothing is concluded. */
  | {
      readonly kind: 'unproven';
      readonly reason: string;
      readonly startedAt: string;
      /** The source counted so many rows more than it showed; negative if fewer. */
      readonly miscounted?: number;
      /** What tells the rows that its count did not fit from others: a digest, or their place. */
      readonly miscountedRows?: string;
      /** The rows of a slice that may have been cut off. */
      readonly rows?: number;
      /** The same task would fail again. */
      readonly givenUp?: true;
    };

/** When the reading of the step began, where that is known: what it shows is as of then. */
export const startOf = ({ position, end }: Pick<Step, 'position' | 'end'>): string | null =>
  position?.startedAt ?? (end && 'startedAt' in end ? end.startedAt : null);

/** Keys of all that the answer shows, also of what could not be read or is not written. */
export const shownBy = ({ rows, known, held = [], bad }: Pick<Step, 'rows' | 'known' | 'held' | 'bad'>): string[] => [
  ...rows.map(({ key }) => key),
  ...(known?.keys ?? []),
  ...held,
  ...bad.map(({ key }) => key),
];

/** It shows where the list grows. */
export const showsNewest = ({ slice, end }: Pick<Step, 'slice' | 'end'>): boolean =>
  slice.by === 'newest' || (end?.kind === 'proven' && end.slice.by === 'id' && end.slice.to === null);

/** What a committed step did. */
export interface Committed {
  /** New or different rows. */
  readonly changed: number;
}
