import type { Wish } from '../../src/engine/agenda/choice.ts';
import type { List } from '../../src/engine/coverage/list.ts';
import { profileOf } from '../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../src/engine/profile/strategy.ts';
import { parseSlice } from '../../src/engine/slices/slice.ts';
import type { Entry } from '../../src/warehouse/ledgers/coverage.ts';
import { JOBS, type TestResource } from '../support/resources.ts';

/** The coverage of one slice: its text, provenAt, readAt, requests, rows, changed, hoursWatched, dueSince, dueReason. */
export type RecordedEntry = readonly [
  string,
  number | null,
  number | null,
  number,
  number | null,
  number,
  number,
  number | null,
  string | null,
];

/** A list as the engine knew it when it decided. */
export interface RecordedList {
  readonly resource: TestResource;
  readonly traits: Readonly<Record<string, string>>;
  readonly entries: readonly RecordedEntry[];
  /** `unasked`: undefined. */
  readonly total: number | null | 'unasked';
}

export function entryOf(recorded: RecordedEntry): Entry {
  const [slice, provenAt, readAt, requests, rows, changed, hoursWatched, dueSince, dueReason] = recorded;
  return { slice: parseSlice(slice), provenAt, readAt, requests, rows, changed, hoursWatched, dueSince, dueReason };
}

export function listOf({ resource, traits, entries, total }: RecordedList): List {
  const job = JOBS[resource];
  const profile = profileOf(Object.entries(traits).map(([trait, value]) => ({ trait, value })));
  return {
    job,
    profile,
    strategy: strategyFor(profile, job),
    entries: new Map(entries.map(entry => [entry[0], entryOf(entry)])),
    total: total === 'unasked' ? undefined : total,
  };
}

/** A task as the recorder saw it: what it had settled, by the text of the slice or with a word before it. */
export interface RecordedTask extends Omit<Wish, 'progress' | 'targets' | 'failure'> {
  readonly settled: readonly string[];
  readonly targets: readonly string[];
  readonly intervals: readonly string[];
  readonly failure: string | null;
}
