import type { EmitEvent } from '../changes/edits.ts';
import type { Change, ChangeKind } from '../changes/main-changes.ts';
import type { OtherChange, OtherChangeKind } from '../changes/other-changes.ts';
import type { DataOptions } from '../data/data.ts';
import { createRandom, mix } from '../data/random.ts';
import { createActivity } from './activity.ts';
import { createDatasets, type Dataset } from './dataset.ts';

/** The data of the source over time: changed by calls and by activity, and replaced by a daily reset. */
export interface Timeline {
  /** The source's time, in milliseconds since the epoch. */
  readonly now: () => number;
  readonly dataset: () => Dataset;
  /** Reads the dataset as it was some time ago, at most a minute. The result must not read it later. */
  readonly readBehind: <T>(lagMs: number, read: (dataset: Dataset) => T) => T;
  /** Makes the changes that are due. */
  readonly catchUp: () => void;
  /** Makes a change at a later moment. */
  readonly defer: (ms: number, make: () => unknown) => void;
  /** All changes so far, oldest first, resets notwithstanding. */
  readonly changes: readonly Change[];
  readonly otherChanges: readonly OtherChange[];
  /** Throws if no row qualifies. */
  readonly change: (kind: ChangeKind) => Change;
  readonly changeRandom: (count: number) => Change[];
  /** Random changes between the arrival of a request and its response; due activity does not come first. */
  readonly changeDuringRequest: (count: number) => void;
  readonly changeOther: (kind: OtherChangeKind) => OtherChange;
  readonly changeOthers: (count: number) => OtherChange[];
  readonly stop: () => void;
}

export interface TimelineOptions {
  data: DataOptions;
  now: () => number;
  /** Milliseconds since the epoch; the data is generated for this day. */
  startedAt: number;
  emit: EmitEvent;
  activityPerMinute: number;
  otherActivityPerMinute: number;
  dailyReset: boolean;
  onReset: () => void;
}

export function createTimeline({ data, now, emit, ...options }: TimelineOptions): Timeline {
  // A change made late carries the time at which it was due.
  let dueAt: number | undefined;
  const datasetAt = createDatasets(
    {
      ...data,
      editTime: () => dueAt ?? now(),
      emit,
      random: createRandom(mix(data.seed, 0xac71)),
      otherRandom: createRandom(mix(data.seed, 0x07e5)),
    },
    { daily: options.dailyReset, startedAt: options.startedAt, onReset: options.onReset },
  );
  const changes: Change[] = [];
  const otherChanges: OtherChange[] = [];
  const changeAt = (at: number) => record(changes, datasetAt(at).mainChanges.makeAny(at));
  const otherChangeAt = (at: number) => record(otherChanges, datasetAt(at).otherChanges.makeAny(at));
  const asOfDueTime = (make: (at: number) => unknown) => (at: number) => {
    dueAt = at;
    make(at);
    dueAt = undefined;
  };
  const activity = createActivity(
    [
      { perMinute: options.activityPerMinute, change: asOfDueTime(changeAt) },
      { perMinute: options.otherActivityPerMinute, change: asOfDueTime(otherChangeAt) },
    ],
    now,
  );
  let deferred: { readonly at: number; readonly make: (at: number) => void }[] = [];
  const catchUp = () => {
    activity.catchUp();
    const due = deferred.filter(({ at }) => at <= now()).sort((a, b) => a.at - b.at);
    deferred = deferred.filter(({ at }) => at > now());
    for (const { at, make } of due) make(at);
  };
  const dataset = () => {
    // Changes due before a reset must not be applied to the new dataset.
    if (options.dailyReset) catchUp();
    return datasetAt(now());
  };
  const repeat = <C>(count: number, make: (at: number) => C | undefined) => {
    dataset();
    return Array.from({ length: count }, () => make(now())).filter(change => change !== undefined);
  };
  return {
    now,
    dataset,
    readBehind(lagMs, read) {
      const current = dataset();
      return lagMs === 0 ? read(current) : current.edits.asOf(now() - lagMs, () => read(current));
    },
    catchUp,
    defer: (ms, make) => void deferred.push({ at: now() + ms, make: asOfDueTime(make) }),
    changes,
    otherChanges,
    change: kind => mustExist(kind, record(changes, dataset().mainChanges.make(kind, now()))),
    changeRandom: count => repeat(count, changeAt),
    changeDuringRequest(count) {
      for (let made = 0; made < count; made += 1) changeAt(now());
    },
    changeOther: kind => mustExist(kind, record(otherChanges, dataset().otherChanges.make(kind, now()))),
    changeOthers: count => repeat(count, otherChangeAt),
    stop: activity.stop,
  };
}

function record<C>(changes: C[], change: C | undefined): C | undefined {
  if (change !== undefined) changes.push(change);
  return change;
}

function mustExist<C>(kind: string, change: C | undefined): C {
  if (change === undefined) throw new RangeError(`No row qualifies for ${kind}.`);
  return change;
}
