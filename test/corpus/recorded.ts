import type { TaskProgress, Wish } from '../../src/engine/agenda/choice.ts';
import type { Counted } from '../../src/engine/coverage/hidden-rows.ts';
import type { List } from '../../src/engine/coverage/list.ts';
import { slicingOf, sortableFields } from '../../src/engine/job.ts';
import { profileOf } from '../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../src/engine/profile/strategy.ts';
import type { Entry } from '../../src/engine/slices/coverage-entry.ts';
import { parseSlice } from '../../src/engine/slices/slice.ts';
import type { MissingRow } from '../../src/warehouse/rows/missing-rows.ts';
import { JOBS, type TestResource } from '../support/resources.ts';

/**
 * Decisions of the engine before its rules became pure functions, as they were logged while seeds of the simulation were played: what
 * was known, the statements that a conclusion sent with their results, and what was decided.
 */
export type Recorded = RecordedPlan | RecordedConclusion | RecordedRecount;

/** Coverage of one slice: text, provenAt, readAt, requests, rows, changed, hoursWatched, dueSince, dueReason. */
export type RecordedEntry = readonly [
  slice: string,
  provenAt: number | null,
  readAt: number | null,
  requests: number,
  rows: number | null,
  changed: number,
  hoursWatched: number,
  dueSince: number | null,
  dueReason: string | null,
];

/** A list as the engine knew it when it decided. */
export interface RecordedList {
  readonly resource: TestResource;
  readonly traits: Readonly<Record<string, string>>;
  readonly entries: readonly RecordedEntry[];
  /** `unasked`: undefined. */
  readonly total: number | null | 'unasked';
}

type RecordedNext =
  | 'blocked'
  | 'done'
  | { readonly slice: string; readonly answers: number | 'inf'; readonly gathered: boolean; readonly counted: boolean };

/** What to read next. */
export interface RecordedPlan {
  readonly d: 'choose';
  readonly seed: number;
  readonly list: RecordedList & { readonly reading: readonly string[]; readonly turn: number };
  readonly task: Omit<Wish, 'state'> &
    Pick<TaskProgress, 'allowance'> & {
      readonly counted: number | null;
      readonly absent: boolean;
      /** What needed no more reading, by the text of the slice or with a word before it. */
      readonly settled: readonly string[];
      readonly targets: readonly string[];
      readonly intervals: readonly string[];
      readonly failure: string | null;
    };
  readonly now: number;
  readonly today: string;
  readonly affordable: boolean | null;
  readonly missing: readonly MissingRow[] | null;
  readonly next: RecordedNext;
  /** What it added to `settled`, what it left of the targets, and whether it found the list absent. */
  readonly settled: readonly string[];
  readonly targets: readonly string[];
  readonly absent: boolean;
}

/** What a finished reading concluded. */
export interface RecordedConclusion {
  readonly d: 'conclude';
  readonly seed: number;
  readonly list: RecordedList & { readonly holdsMissing: boolean; readonly oldestBefore: number | null };
  readonly task: {
    readonly reportOnly: boolean;
    readonly counted: number | null;
    readonly tries: readonly (readonly [string, number])[];
  };
  readonly step: {
    readonly slice: string;
    readonly end: RecordedEnd | null;
    readonly readAt: string | null;
  };
  readonly changed: readonly string[];
  /** Statement, arguments, result. */
  readonly io: readonly (readonly [string, unknown, unknown])[];
}

export type RecordedEnd =
  | { readonly kind: 'proven'; readonly slice: string; readonly startedAt: string; readonly narrow?: readonly string[] }
  | { readonly kind: 'split'; readonly into: readonly string[]; readonly total: number | null }
  | { readonly kind: 'larger'; readonly total: number }
  | { readonly kind: 'targeted'; readonly complete: boolean; readonly startedAt: string }
  | { readonly kind: 'gone'; readonly key: string; readonly at: string }
  | { readonly kind: 'total'; readonly said: Readonly<Record<string, unknown>>; readonly startedAt: string }
  | { readonly kind: 'unproven'; readonly reason: string; readonly startedAt: string };

/** Whether the source counts rows that its windows did not show. */
export interface RecordedRecount {
  readonly d: 'recount';
  readonly seed: number;
  readonly list: RecordedList & { readonly quarantined: boolean; readonly holdsMissing: boolean };
  readonly task: {
    readonly kind: Wish['kind'];
    readonly reportOnly: boolean;
    readonly counted: number | null;
    readonly recounted: boolean;
  };
  readonly io: readonly (readonly [string, unknown, unknown])[];
  readonly next: RecordedNext;
}

export function entryOf(recorded: RecordedEntry): Entry {
  const [slice, provenAt, readAt, requests, rows, changed, hoursWatched, dueSince, dueReason] = recorded;
  return { slice: parseSlice(slice), provenAt, readAt, requests, rows, changed, hoursWatched, dueSince, dueReason };
}

export function listOf({ resource, traits, entries, total }: RecordedList): List {
  const job = JOBS[resource];
  // What the recorder's engine did not note: windows of that length would not have been gathered.
  const noted = total === null ? { [`longest ${slicingOf(job, 'date')?.field}`]: '1000' } : {};
  // Nor which fields order a list whose edited rows keep their place: it took them all for lists in the order of ids alone.
  const byId = traits.edits === undefined ? {} : { 'not ordered by': sortableFields(job).join() };
  const profile = profileOf(
    Object.entries({ ...noted, ...byId, ...traits }).map(([trait, value]) => ({ trait, value })),
  );
  return {
    job,
    profile,
    strategy: strategyFor(profile, job),
    entries: new Map(entries.map(entry => [entry[0], entryOf(entry)])),
    total: total === 'unasked' ? undefined : total,
    // The recorder's engine let neighbours confirm whatever the source counted.
    accountedAt: Number.POSITIVE_INFINITY,
  };
}

/** The recorder's engine asked for the count before it read anything. */
export const countedFirst = (rows: number | null): Counted | null => (rows === null ? null : { rows, at: 0 });
