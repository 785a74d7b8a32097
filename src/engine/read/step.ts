import type { BadRecord } from '../../warehouse/rows/quarantine.ts';
import type { Row } from '../../warehouse/rows/write-rows.ts';
import type { Edge, Resource } from '../resource.ts';
import type { Task } from '../run/task.ts';
import type { DateSlice, Slice } from '../slices/slice.ts';

/** One answer of a reading, ready to be committed. Steps of a reading are committed in their order. */
export interface Step {
  readonly resource: Resource;
  readonly task: Task;
  /** The slice being read; what names the reading in the cursor. */
  readonly slice: Slice;
  readonly rows: readonly Row[];
  readonly bad: readonly BadRecord[];
  readonly requests: number;
  /** To be called once the step is committed or dropped. */
  readonly release: () => void;
  /** Where the reading stands after this answer, when more are to come. */
  readonly position?: {
    page: number;
    limit: number;
    startedAt: string;
    totalPages: number | null;
    totalRecords: number | null;
    before: string | null;
  };
  /** The pages are gone through from the first: what was seen before counts no more. */
  readonly anew?: boolean;
  readonly end?: End;
  /** Rows the whole, unfiltered list has, where the answer told. */
  readonly total?: number | null;
  readonly learnt?: readonly { trait: string; value: string; evidence: string }[];
}

export type End =
  /** `slice` was shown in full: stored rows of it that were not seen have left it. `narrow`: a window's edges asked for by just their days. */
  | { readonly kind: 'proven'; readonly slice: Slice; readonly startedAt: string; readonly narrow?: readonly Edge[] }
  /** Too large to be read in one go. `total`: the rows it was said to have. */
  | { readonly kind: 'split'; readonly into: readonly DateSlice[]; readonly total: number | null }
  /** Several slices asked for in one go are more than thought: what was believed of their size is corrected. */
  | { readonly kind: 'larger'; readonly total: number }
  /** A targeted slice was read. `complete`: what it did not show has left it. */
  | { readonly kind: 'targeted'; readonly complete: boolean; readonly startedAt: string }
  /** The source has no row of this key. */
  | { readonly kind: 'gone'; readonly key: string; readonly at: string }
  /** What the source says of a month. */
  | { readonly kind: 'total'; readonly said: Readonly<Record<string, unknown>>; readonly startedAt: string }
  /** It did not add up; what came is kept, and nothing is concluded. */
  | { readonly kind: 'unproven'; readonly reason: string; readonly startedAt: string };

/** What a committed step did. */
export interface Committed {
  /** Rows new or different. */
  readonly changed: number;
}
