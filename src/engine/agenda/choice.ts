import type { MissingRow } from '../../warehouse/rows/missing-rows.ts';
import type { Counted } from '../coverage/hidden-rows.ts';
import type { List } from '../coverage/list.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import type { Day } from '../slices/date-windows.ts';
import { type IdSlice, overlap, type Slice } from '../slices/slice.ts';

/** What a task has done so far, as far as it decides what comes next. */
export interface TaskProgress {
  /** A sync reads everything again: it was told to, or can afford it (`isAffordable`); null until that is decided, once for each. */
  readonly readsAll: boolean | null;
  /** Requests it may still spend on reading again what was read before; for a tick, on the values that its job watches. */
  readonly allowance: number;
  /** What hints point to, or a refresh asks for; the first comes next. */
  readonly targets: readonly Slice[];
  /** What the source counted when the task, or an earlier attempt at its order, first asked: only a cover read since then is counted alike. */
  readonly counted: Counted | null;
  readonly failure: { readonly kind: string } | null;
  /** Slices that need no more reading, by their text: read, or given up. */
  readonly done: ReadonlySet<string>;
  /** How often slices were read in vain, by their text. */
  readonly tries: ReadonlyMap<string, number>;
  /** Missing rows that were asked for, by key, and what may show them elsewhere. */
  readonly asked: ReadonlySet<string>;
  /** Parts of a cover that was complete already, read once more so that it confirms, by their text. */
  readonly coverAsked: ReadonlySet<string>;
  /** The covers it read only to confirm what went missing, by the moment they confirm from (epoch ms). The last may still be under way. */
  readonly covers: readonly number[];
  /** The moments (epoch ms) it paused until. */
  readonly pauses: ReadonlySet<number>;
  /** Rows that a slice lacked just after they had been stored, unless another slice has shown them since, by slice text. */
  readonly justLacked: ReadonlyMap<string, ReadonlySet<string>>;
  /** Id ranges read by a task that only reports. */
  readonly intervals: readonly IdSlice[];
}

/** What a task starts with. */
export const NO_PROGRESS: TaskProgress = {
  readsAll: null,
  allowance: 0,
  targets: [],
  counted: null,
  failure: null,
  done: new Set(),
  tries: new Map(),
  asked: new Set(),
  coverAsked: new Set(),
  covers: [],
  pauses: new Set(),
  justLacked: new Map(),
  intervals: [],
};

/** An order, a slot or hints being served, or a list's questions between slots (`agenda`), as far as it decides what comes next. */
export interface Wish {
  readonly kind: 'sync' | 'slot' | 'agenda' | 'hint' | 'backfill' | 'verify' | 'refresh';
  /** What is proven since this moment (epoch ms) needs no reading. */
  readonly since: number;
  /** Values that were read since this moment (epoch ms) need no reading: for a tick, the one before. Default: `since`. */
  readonly valuesSince?: number;
  readonly from: Day | null;
  readonly to: Day | null;
  readonly reportOnly: boolean;
  readonly state: TaskProgress;
}

/** It reads what was named and nothing else. Someone waits for it. */
export const isTargeted = ({ kind }: Pick<Wish, 'kind'>): boolean => kind === 'hint' || kind === 'refresh';

/** A list while it is read. */
export interface ListInUse extends List {
  /** Slices being read now. */
  readonly reading: ReadonlySet<Slice>;
}

export interface PlanFacts {
  readonly list: ListInUse;
  readonly wish: Wish;
  /** Rows that are missing, the oldest first. */
  readonly missing: readonly MissingRow[];
  /** The source is known not to offer the list. Default: false. */
  readonly absent?: boolean;
  readonly now: number;
  /** The day it is at the source. */
  readonly today: Day;
  /** The past months of a report need no reading, unless the task reads everything whatever it costs. */
  readonly monthsHold?: boolean;
}

/** What to read next. */
export interface Choice {
  readonly slice: Slice;
  /** The most answers it may take. */
  readonly answers: number;
  /** Several slices of the partition in one go. */
  readonly gathered: boolean;
  /** Its requests count against the task's allowance. */
  readonly metered: boolean;
  /**
   * What it asks beside the slice: whether a missing row was deleted (`row`: its key, or what may show it elsewhere), whether a complete cover lacks rows, (`length`) whether the source
   * shows more rows at once than it ever did, (`all`) what the list shows from its newest end to the other, or (`count`) how many rows it has.
   */
  readonly asks?: { readonly row: string } | 'cover' | 'count' | 'length' | 'all';
  /** It was proven already, and is read as part of a cover that confirms what went missing before this moment (epoch ms). */
  readonly confirmsFrom?: number;
}

/** Nothing is left before this moment (epoch ms). Until then answers may lag behind what was read; then they are asked for again. */
export interface Pause {
  readonly until: number;
}

export const isPause = (next: Next): next is Pause => typeof next === 'object' && 'until' in next;

export const isChoice = (next: Next): next is Choice => typeof next === 'object' && 'slice' in next;

/** `blocked`: something is left, but what is being read now is in its way. `done`: nothing is left. */
export type Next = Choice | Pause | 'blocked' | 'done';

/** A slice has at most this many answers, as long as it can be cut. */
export const MOST_PAGES = 10;

/** One slice by itself: a range of ids is read answer by answer, a whole list and a value to their end. */
export const single = (slice: Slice, metered = false): Choice => ({
  slice,
  answers: slice.by === 'id' ? 1 : slice.by === 'whole' || slice.by === 'value' ? Number.POSITIVE_INFINITY : MOST_PAGES,
  gathered: false,
  metered,
});

/** Nothing that it may overlap is being read. */
export function isFree({ reading }: Pick<ListInUse, 'reading'>, slice: Slice): boolean {
  for (const other of reading) if (overlap(other, slice)) return false;
  return true;
}

/** Something was seen to happen in it since it was last proven, and is to be looked at now. */
export const isDue = ({ dueSince, provenAt }: Entry, now: number): boolean =>
  dueSince !== null && dueSince > (provenAt ?? 0) && dueSince <= now;

/** Whether a date window has days that were asked for; other slices have none. */
export const wants = ({ from, to }: Pick<Wish, 'from' | 'to'>, slice: Slice): boolean =>
  slice.by !== 'date' || (from === null && to === null) || overlap(slice, { by: 'date', from, to });
