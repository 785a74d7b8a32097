import { stampMs } from '../../clock.ts';
import type { Transaction } from '../../warehouse/database/database.ts';
import { countEach, valuesOf } from '../../warehouse/rows/stored-rows.ts';
import { countsAfterCover } from '../coverage/hidden-rows.ts';
import {
  type CoverageChange,
  cutRanges,
  dueAgain,
  type Proof,
  partsIn,
  proveInterval,
  proveParts,
  type StoredCount,
} from '../coverage/prove.ts';
import { dueAfterLeaving } from '../coverage/targeted.ts';
import { lacksHalf } from '../deletion/is-deleted.ts';
import type { LackedRow } from '../deletion/lag.ts';
import { mayBeLeftOut, noteLeftOut, withDays } from '../profile/limited-span.ts';
import { doubtfulEdges, edgeText } from '../profile/observe-edges.ts';
import type { AskedDays } from '../profile/observe-filter.ts';
import type { End } from '../read/step.ts';
import type { Resource } from '../resource.ts';
import type { Day } from '../slices/date-windows.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import type { Ended, Written } from './ended.ts';
import { failIfUnreadable } from './remove-rows.ts';
import { settleEnd } from './settle-end.ts';
import {
  lackedRows,
  membersOf,
  settleCovered,
  settleLacked,
  settleShownByNone,
  unreadableIn,
} from './settle-missing.ts';
import { changeCoverage, remember, resourceIn, type TransactionEffects } from './transaction-effects.ts';

/**
 * A slice was shown in full: marks the rows it lacked as missing, renews its coverage, and deletes what a complete cover lacks. Returns the
 * end that applies instead if what it lacked is doubted (`judgeLacked`); null if it is proven, or read again because only its edges are in doubt.
 */
export async function concludeProven(
  tx: Transaction,
  effects: TransactionEffects,
  step: Ended<'proven'>,
  written: Written,
): Promise<End | null> {
  const { resource, task, seen, end } = step;
  const { slice, startedAt } = end;
  const { counts } = written;
  const { lacked: all, askAgainAt, recent, stored } = await lackedRows(tx, resource, { slice, seen, startedAt });
  const lacked = end.reached ? await settleEnd(tx, effects, task, end.reached, all) : all;
  // A report keeps no windows of rows: once this one is split, none would be found to lack them.
  const reportsWindow = task.reportOnly && resource.strategy.membership === 'window';
  const mayBe = await unreadableIn(tx, effects, slice, step.unreadable, lacked);
  const isUnreadable = (row: LackedRow) => mayBe(row) === 'new';
  const verdict = reportsWindow ? 'missing' : await judgeLacked(tx, effects, step, lacked, isUnreadable);
  if (verdict === 'read again') return null;
  if (verdict !== 'missing') return verdict;
  if (lacked.length > 0) {
    const [count] = await countIn(tx, resource, [slice], startedAt);
    const half = lacksHalf(lacked.length, count as StoredCount);
    await settleLacked(tx, effects, task, { slice, startedAt, mayBe, half }, lacked, counts);
    if (step.unreadable.length >= lacked.length && lacked.some(isUnreadable) && !task.reportOnly)
      await failIfUnreadable(tx, effects, task, slice, step.unreadable.length);
  }
  if (slice.by !== resource.strategy.partition) return null;
  const slices = partsIn(resourceIn(effects), slice).map(entry => sliceText(entry.slice));
  effects.events.push([task, { kind: 'proven', slices }]);
  if (task.reportOnly) {
    effects.events.push([task, { kind: 'compared', slice, slices }]);
    return null;
  }
  // Rows that the reading lacked may have been deleted since.
  const known = new Map(all.length === 0 ? [[sliceText(slice), stored]] : []);
  const isEmpty = slice.by === 'date' && seen.length + step.unreadable.length === 0;
  const proof = { at: stampMs(startedAt), lacked: lacked.length, pages: end.pages, isEmpty };
  changeCoverage(effects, await proofOf(tx, resourceIn(effects), step, { ...proof, changed: written.changed }, known));
  if (askAgainAt !== null) askAgain(effects, step, askAgainAt, { keys: recent, hasParts: slices.length > 0 });
  if (resource.strategy.membership === 'window') await settleShownByNone(tx, effects, task, end, counts);
  if (!countsAfterCover(resourceIn(effects))) await settleCovered(tx, effects, task, counts, null);
  return null;
}

/** What follows where the answer lacks rows that are so new that it may lag behind: their slices are due once it cannot. */
function askAgain(
  effects: TransactionEffects,
  { task, end: { slice, startedAt } }: Ended<'proven'>,
  dueAt: number,
  { keys, hasParts }: { readonly keys: readonly string[]; readonly hasParts: boolean },
): void {
  const list = resourceIn(effects);
  const again = hasParts
    ? dueAgain(list, slice, dueAt)
    : dueAfterLeaving(list, slice, { at: stampMs(startedAt), dueAt }, { keys, days: [] });
  changeCoverage(effects, again);
  const due = (again.put ?? []).map(part => sliceText(part.slice));
  effects.events.push([task, { kind: 'just lacked', slices: due, rows: keys }]);
}

/** Whether the stored rows that a window lacked are missing. If they may be there all the same: whether it is read again, or which end applies. */
async function judgeLacked(
  tx: Transaction,
  effects: TransactionEffects,
  step: Ended<'proven'>,
  lacked: readonly LackedRow[],
  isUnreadable: (row: LackedRow) => boolean,
): Promise<'missing' | 'read again' | End> {
  const { resource, task, end } = step;
  const { slice, narrow = [], asked, ifLeftOut, ifLacking } = end;
  if (lacked.length === 0 || slice.by !== 'date') return 'missing';
  // What may have come as an unreadable record need not have been left out, and is not deleted for this reading.
  const absent = lacked.filter(row => !isUnreadable(row));
  const days = absent.length > 0 && (narrow.length > 0 || ifLeftOut) ? await daysOf(tx, step, absent) : null;
  const doubts = days === null ? [] : doubtfulEdges(slice, narrow, textsOf(days));
  if (doubts.length > 0) {
    // The next reading pads these edges by a day, whatever other windows show of theirs meanwhile; rows that it lacks as well are missing.
    const edges = doubts.map(({ trait }) => edgeText(trait, slice));
    effects.events.push([task, { kind: 'edges doubted', edges }]);
    for (const doubt of doubts) remember(effects, task, doubt);
    return 'read again';
  }
  if (days !== null && asked && ifLeftOut) {
    const leftOut = leftOutOf(resource, asked, days);
    if (leftOut.length > 0) {
      const uncounted = end.reached && !end.reached.counted ? end.reached.rows : null;
      effects.afterCommit.push(() => {
        resource.leftOut = noteLeftOut(resource.leftOut, { window: slice, uncounted, keys: new Set(leftOut) });
      });
      return ifLeftOut;
    }
  }
  return ifLacking ?? 'missing';
}

/** The days of stored rows that a window lacked and of those that it showed, by key. */
interface Days {
  readonly lacked: ReadonlyMap<string, Day>;
  readonly shown: ReadonlyMap<string, Day>;
}

/** Null where rows do not lie in windows by their date. */
async function daysOf(
  tx: Transaction,
  { resource: { dates, table, strategy }, seen }: Ended<'proven'>,
  lacked: readonly LackedRow[],
): Promise<Days | null> {
  if (!dates || strategy.membership !== 'date') return null;
  const keys = lacked.map(({ key }) => key);
  return {
    lacked: await valuesOf(tx, table, dates.field, keys),
    shown: await valuesOf(tx, table, dates.field, seen),
  };
}

const textsOf = ({ lacked, shown }: Days) => ({ lacked: [...lacked.values()], shown: [...shown.values()] });

/** Lacked rows that the filter may have left out. */
function leftOutOf({ profile }: Resource, asked: AskedDays, { lacked, shown }: Days): string[] {
  const span = withDays(null, [...shown.values()]);
  return [...lacked].filter(([, day]) => mayBeLeftOut(asked, day, span, profile)).map(([key]) => key);
}

/** `known`: stored rows of slices that were counted already. */
async function proofOf(
  tx: Transaction,
  resource: Resource,
  { end: { slice, startedAt } }: Ended<'proven'>,
  { changed, ...proof }: Proof & { readonly changed: ReadonlySet<string> },
  known: ReadonlyMap<string, StoredCount>,
): Promise<CoverageChange> {
  const countAll = async (slices: readonly Slice[]): Promise<(each: Slice) => StoredCount> => {
    const unknown = slices.filter(each => !known.has(sliceText(each)));
    const counts = await countIn(tx, resource, unknown, startedAt);
    const all = new Map([...known, ...unknown.map((each, index) => [sliceText(each), counts[index]] as const)]);
    return each => all.get(sliceText(each)) as StoredCount;
  };
  if (slice.by === 'id') {
    // What was never read has no proof to share out by its rows.
    const rests = cutRanges(resource, slice).flatMap(({ range, rest }) => (range.provenAt === null ? [] : rest));
    const slices = [...rests, slice];
    const countOf = await countAll(slices);
    const rowsOf = new Map(slices.map(each => [sliceText(each), countOf(each).rows]));
    return proveInterval(resource, slice, rowsOf, { ...proof, changed });
  }
  const parts = partsIn(resource, slice);
  const countOf = await countAll(parts.map(entry => entry.slice));
  const stored = parts.map(entry => ({ entry, stored: countOf(entry.slice) }));
  return proveParts(resource, stored, proof);
}

/** Stored rows of each slice, and those of them read since. */
const countIn = (
  tx: Transaction,
  resource: Resource,
  slices: readonly Slice[],
  startedAt: string | null,
): Promise<StoredCount[]> =>
  countEach(
    tx.alone,
    resource.table,
    slices.map(slice => membersOf(resource, slice)),
    startedAt,
  );
