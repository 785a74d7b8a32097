import type { Position } from '../../source/paging/stable-reading.ts';
import type { BadRecord } from '../../warehouse/rows/quarantine.ts';
import type { Row } from '../../warehouse/rows/write-rows.ts';
import type { Edge, Observation } from '../profile/observation.ts';
import type { Resource } from '../resource.ts';
import type { DateSlice, Slice } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';

/** One answer of a reading, ready to be committed. The steps of a reading are committed in their order. */
export interface Step {
  readonly resource: Resource;
  readonly task: Task;
  /** The slice being read; it names the reading in the cursor. */
  readonly slice: Slice;
  readonly rows: readonly Row[];
  readonly bad: readonly BadRecord[];
  readonly requests: number;
  /** Must be called once the step is committed or dropped. */
  readonly release: () => void;
  /** Where the reading stands after this answer, if more follow. */
  readonly position?: Position;
  /** The reading begins again at the first page: rows seen before no longer count. */
  readonly anew?: boolean;
  readonly end?: End;
  /** Rows of the whole, unfiltered list by its own count; null where the answer gave none. */
  readonly total?: number | null;
  readonly learnt?: readonly Observation[];
}

export type End =
  /** `slice` was shown in full: stored rows that were not seen have left it. `narrow`: the edges at which a window was not padded. */
  | { readonly kind: 'proven'; readonly slice: Slice; readonly startedAt: string; readonly narrow?: readonly Edge[] }
  /** Too large to be read in one go. `total`: its rows by its own count. */
  | { readonly kind: 'split'; readonly into: readonly DateSlice[]; readonly total: number | null }
  /** Several slices asked for in one go hold more rows than expected; their expected sizes are corrected. */
  | { readonly kind: 'larger'; readonly total: number }
  /** A targeted slice was read. `complete`: rows that it did not show have left it. */
  | { readonly kind: 'targeted'; readonly complete: boolean; readonly startedAt: string }
  /** The source has no row of this key. */
  | { readonly kind: 'gone'; readonly key: string; readonly at: string }
  /** The source's totals for a month. */
  | { readonly kind: 'total'; readonly said: Readonly<Record<string, unknown>>; readonly startedAt: string }
  /** The answers do not add up; the rows are kept, and nothing is concluded. */
  | {
      readonly kind: 'unproven';
      readonly reason: string;
      readonly startedAt: string;
      /** Another try by the same task would end alike. */
      readonly givenUp?: true;
    };

/** What a committed step did. */
export interface Committed {
  /** Rows new or different. */
  readonly changed: number;
}
