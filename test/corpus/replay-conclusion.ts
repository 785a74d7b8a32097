import { stampMs } from '../../src/clock.ts';
import { compareTotals } from '../../src/engine/coverage/control-totals.ts';
import { countsAfterCover } from '../../src/engine/coverage/hidden-rows.ts';
import { coveredSince, type List, pageSize } from '../../src/engine/coverage/list.ts';
import {
  type CoverageChange,
  growParts,
  partsIn,
  proveInterval,
  proveParts,
  type StoredCount,
  splitEntry,
} from '../../src/engine/coverage/prove.ts';
import { dueAfterLeaving, readTargeted, watchedEntry } from '../../src/engine/coverage/targeted.ts';
import { contradictions, type SeenAgain, undatedRow } from '../../src/engine/deletion/contradiction.ts';
import { isDeleted, type RowClaims, UNCOVERED } from '../../src/engine/deletion/is-deleted.ts';
import type { Edge, Observation } from '../../src/engine/profile/observation.ts';
import { doubtfulEdges } from '../../src/engine/profile/observe-edges.ts';
import { withObservation } from '../../src/engine/profile/source-profile.ts';
import { type DateSlice, parseSlice, type Slice, sliceText } from '../../src/engine/slices/slice.ts';
import type { MissingBefore, MissingRow } from '../../src/warehouse/rows/missing-rows.ts';
import { requestsNoted, withoutRates } from './changed-rules.ts';
import { entryOf, listOf, type RecordedConclusion, type RecordedEnd, type RecordedEntry } from './recorded.ts';

/** What a conclusion wrote, in its order: what it observed, what it made due or proved, what it found deleted. */
type Effect =
  | { readonly observes: string }
  | { readonly covers: readonly [removed: readonly string[], put: readonly unknown[]] }
  | { readonly deletes: readonly string[] };

/** The statements of the recorder, taken one after the other. */
interface Script {
  /** The result of the next statement of that name; undefined when the next one is another. */
  take<T>(statement: string): T | undefined;
}

/**
 * What was concluded, and what the pure functions conclude now from the same facts. `deleteRows` itself reads the limit, and forgets
 * that the rows are missing.
 */
export function replayConclusion(recorded: RecordedConclusion): { was: Effect[]; is: Effect[] } {
  const lines = recorded.io.filter(([name], index) => name !== 'readFuse' && (name !== 'markSeen' || index === 0));
  return { was: lines.flatMap(effectOf).map(unrated), is: conclude(recorded, scriptOf(lines)).map(unrated) };
}

function unrated(effect: Effect): Effect {
  if (!('covers' in effect)) return effect;
  const [removed, put] = effect.covers;
  return { covers: [removed, (put as RecordedEntry[]).map(withoutRates)] };
}

const WRITES: ReadonlySet<string> = new Set(['writeTrait', 'writeCoverage', 'deleteRows']);

function scriptOf(lines: RecordedConclusion['io']): Script {
  const facts = lines.filter(([name]) => !WRITES.has(name));
  let next = 0;
  return {
    take<T>(statement: string) {
      if (facts[next]?.[0] !== statement) return undefined;
      return facts[next++]?.[2] as T;
    },
  };
}

function effectOf([name, args]: readonly [string, unknown, unknown]): Effect[] {
  if (name === 'writeTrait') {
    const { trait, value } = args as Observation;
    return [{ observes: `${trait}: ${value}` }];
  }
  if (name === 'writeCoverage') return [{ covers: args as [string[], unknown[]] }];
  if (name === 'deleteRows') {
    const [keys] = args as [string[], number];
    return keys.length > 0 ? [{ deletes: [...new Set(keys)].sort() }] : [];
  }
  return [];
}

const coversOf = (change: Partial<CoverageChange>): Effect[] => {
  const { removed = [], put = [] } = change;
  return removed.length + put.length === 0
    ? []
    : [
        {
          covers: [
            removed.map(sliceText),
            put.map(entry => Object.values({ ...entry, slice: sliceText(entry.slice) })),
          ],
        },
      ];
};
const deletesOf = (keys: readonly string[]): Effect[] => (keys.length > 0 ? [{ deletes: [...keys].sort() }] : []);
const observesOf = (list: List, observed: Observation | null | undefined): Effect[] =>
  observed && withObservation(list.profile, observed) !== list.profile
    ? [{ observes: `${observed.trait}: ${observed.value}` }]
    : [];

function conclude(recorded: RecordedConclusion, script: Script): Effect[] {
  const { step, task } = recorded;
  let list = listOf(recorded.list);
  const effects: Effect[] = [];
  const apply = (more: readonly Effect[]) => {
    effects.push(...more);
    for (const effect of more) if ('covers' in effect) list = changed(list, effect.covers);
  };
  const slice = parseSlice(step.slice);
  if (!task.reportOnly && recorded.list.holdsMissing) apply(replaySeen(recorded, list, slice, script));
  const { end } = step;
  if (!end) return effects;
  switch (end.kind) {
    case 'proven':
      replayProven(recorded, () => list, end, script, apply);
      break;
    case 'targeted':
      replayTargeted(recorded, () => list, slice, end, script, apply);
      break;
    case 'unproven':
      if (slice.by === 'value')
        replayTargeted(recorded, () => list, slice, { ...end, kind: 'targeted', complete: false }, script, apply);
      else if (!task.reportOnly) {
        const dueReason = `not proven: ${end.reason}`;
        apply(coversOf({ put: partsIn(list, slice).map(entry => ({ ...entry, dueReason })) }));
      }
      break;
    case 'split':
      apply(
        coversOf(
          splitEntry(
            list,
            slice,
            end.into.map(text => ({ slice: parseSlice(text) as DateSlice, stored: null })),
            end.total,
          ),
        ),
      );
      break;
    case 'larger':
      apply(coversOf(growParts(list, slice, end.total)));
      break;
    case 'gone':
      if (!task.reportOnly) {
        const row = { key: end.key, value: null, lacks: [], denied: true };
        apply(isDeleted(row, UNCOVERED, list.strategy) ? deletesOf([end.key]) : []);
      }
      break;
    case 'total': {
      const { control } = list.job;
      if (slice.by !== 'total' || task.reportOnly || !control) break;
      const stored = script.take<Record<string, string>>('sumsOf') ?? {};
      const totals = { said: end.said, stored, names: Object.keys(control.sums) };
      const { observed, ...change } = compareTotals(list, slice, stampMs(end.startedAt), totals);
      apply([...observesOf(list, observed), ...coversOf(change)]);
    }
  }
  return effects;
}

function changed(list: List, [removed, put]: readonly [readonly string[], readonly unknown[]]): List {
  const entries = new Map(list.entries);
  for (const text of removed) entries.delete(text);
  for (const entry of put as RecordedEntry[]) entries.set(entry[0], entryOf(entry));
  return { ...list, entries };
}

function replaySeen({ step, task, changed }: RecordedConclusion, list: List, slice: Slice, script: Script): Effect[] {
  const found = script.take<MissingBefore[]>('markSeen') ?? [];
  const seen = found.map(({ key, slice, since, readings = 1 }): SeenAgain => {
    const at = stampMs(step.readAt ?? since);
    return { key, slice, since: stampMs(since), readings, changed: changed.includes(key), at };
  });
  const doubts = new Map(task.tries);
  const effects = observesOf(list, undatedRow(list, slice, seen));
  for (const { due } of contradictions(list, slice, seen, text => doubts.get(`doubt ${text}`) ?? 0)) {
    const forgotten = script.take<string[]>('forgetLacked') ?? [];
    if (forgotten.length > 0) effects.push(...coversOf({ put: due }));
  }
  return effects;
}

type Apply = (effects: readonly Effect[]) => void;

function replayProven(
  recorded: RecordedConclusion,
  list: () => List,
  end: Extract<RecordedEnd, { kind: 'proven' }>,
  script: Script,
  apply: Apply,
): void {
  const slice = parseSlice(end.slice);
  const { strategy } = list();
  const { reportOnly } = recorded.task;
  const lacked = script.take<string[]>('findLeft') ?? [];
  const narrow = (end.narrow ?? []) as Edge[];
  if (lacked.length > 0 && narrow.length > 0 && slice.by === 'date') {
    const days = { lacked: script.take<string[]>('valuesOf') ?? [], shown: script.take<string[]>('valuesOf') ?? [] };
    const doubts = doubtfulEdges(slice, narrow, days);
    if (doubts.length > 0 && !reportOnly) {
      apply(doubts.flatMap(doubt => observesOf(list(), doubt)));
      return;
    }
  }
  const at = stampMs(end.startedAt);
  const settle = (keys: readonly string[]) => {
    if (keys.length === 0 || reportOnly) return;
    const fresh = new Set(script.take<string[]>('markMissing'));
    const claims = keys.map((key): RowClaims => {
      const now = { slice, at };
      return { key, value: null, lacks: fresh.has(key) ? [now] : [{ slice, at: 0 }, now] };
    });
    apply(deletesOf(claims.filter(row => isDeleted(row, UNCOVERED, strategy)).map(({ key }) => key)));
  };
  settle(lacked);
  if (slice.by !== strategy.partition || reportOnly) return;

  if (slice.by === 'id') {
    const rowsOf = new Map<string, number>();
    for (const [name, args, result] of recorded.io)
      if (name === 'countRows') rowsOf.set((args as [string])[0], (result as StoredCount).rows);
    while (script.take('countRows'));
    const proof = { at, lacked: lacked.length, changed: new Set(recorded.changed) };
    apply(coversOf(proveInterval(list(), slice, rowsOf, proof)));
  } else {
    const parts = partsIn(list(), slice).map(entry => ({
      entry,
      stored: script.take<StoredCount>('countRows') ?? { rows: -1, changed: -1 },
    }));
    apply(coversOf(proveParts(list(), parts, { at, lacked: lacked.length })));
  }
  if (strategy.membership === 'window') settle(script.take<string[]>('shownByNone') ?? []);
  const since = coveredSince(list());
  const missing = script.take<MissingRow[]>('listMissing') ?? [];
  if (since === null) return;
  script.take('listMissing');
  script.take('countRows');
  // What a counted list lacks is deleted once it was counted after its windows.
  if (countsAfterCover(list())) return;
  const rows = missing.filter(row => {
    const lacks = [{ slice: parseSlice(row.slice), at: stampMs(row.since) }];
    const claims = { coveredSince: since, unfilteredSince: null, count: null };
    return isDeleted({ key: row.key, value: row.value, lacks }, claims, strategy);
  });
  apply(deletesOf(rows.map(({ key }) => key)));
}

function replayTargeted(
  recorded: RecordedConclusion,
  list: () => List,
  slice: Slice,
  end: Extract<RecordedEnd, { kind: 'targeted' }>,
  script: Script,
  apply: Apply,
): void {
  const { reportOnly } = recorded.task;
  const at = stampMs(end.startedAt);
  if (!reportOnly) {
    // How many rows it showed is in no statement but the one that is compared.
    const text = sliceText(slice);
    const put = recorded.io.flatMap(([name, args]) =>
      name === 'writeCoverage' ? (args as [unknown, RecordedEntry[]])[1] : [],
    );
    const rows = put.find(entry => entry[0] === text)?.[4] ?? 0;
    const known = watchedEntry(list(), slice);
    const read = known ? readTargeted(list(), known, { at, rows, changed: 0 }) : {};
    apply(
      coversOf({
        put: read.put?.map(entry => ({ ...entry, requests: requestsNoted(rows, pageSize(list())) })) ?? [],
      }),
    );
  }
  if (!end.complete || slice.by !== 'value' || reportOnly) return;
  const keys = script.take<string[]>('findLeft') ?? [];
  if (keys.length === 0) return;
  // The statement returned only what another slice lacked.
  const before = new Set(script.take<string[]>('lackedElsewhere'));
  const deleted = keys.filter(key => {
    const lacks = [...(before.has(key) ? [{ slice: { by: 'whole' } as const, at: 0 }] : []), { slice, at }];
    return isDeleted({ key, value: slice.value, lacks }, UNCOVERED, list().strategy);
  });
  apply(deletesOf(deleted));
  const days = (script.take<string[]>('valuesOf') ?? []).map(day => ({ by: 'date', from: day, to: day }) as const);
  apply(coversOf(dueAfterLeaving(list(), slice, { at }, { keys, days })));
}
