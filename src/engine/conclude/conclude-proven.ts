import { stampMs } from '../../clock.ts';
import type { Transaction } from '../../warehouse/database/database.ts';
import { countRows, valuesOf } from '../../warehouse/rows/stored-rows.ts';
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
import { lacksHalf } from '../deletion/is-deleted.ts';
import type { LackedRow } from '../deletion/lag.ts';
import { mayBeLeftOut, noteLeftOut, withDays } from '../profile/limited-span.ts';
import { doubtfulEdges, edgeText } from '../profile/observe-edges.ts';
import type { AskedDays } from '../profile/observe-filter.ts';
import type { End } from '../read/step.ts';
import type { Resource } from '../resource.ts';
import type { Day } from '../slices/date-windows.ts';
import { type IdSlice, type Slice, sliceText } from '../slices/slice.ts';
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
 * end that applies instead if what it lacked is doubted (`doubtIn`); null if it is proven, or read again because only its edges are in doubt.
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
  const doubt = reportsWindow ? null : await doubtIn(tx, effects, step, lacked, isUnreadable);
  if (doubt) return doubt.instead;
  if (lacked.length > 0) {
    const half = lacksHalf(lacked.length, await countIn(tx, resource, slice, startedAt));
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
  const count: Count = (each, since) =>
    // Rows that the reading lacked may have been deleted since.
    all.length === 0 && sliceText(each) === sliceText(slice)
      ? Promise.resolve(stored)
      : countIn(tx, resource, each, since);
  const proof = { at: stampMs(startedAt), lacked: lacked.length, pages: end.pages };
  changeCoverage(effects, await proofOf(resourceIn(effects), step, { ...proof, changed: written.changed }, count));
  if (askAgainAt !== null) {
    const again = dueAgain(resourceIn(effects), slice, askAgainAt);
    changeCoverage(effects, again);
    const due = (again.put ?? []).map(part => sliceText(part.slice));
    effects.events.push([task, { kind: 'just lacked', slices: due, rows: recent }]);
  }
  if (resource.strategy.membership === 'window') await settleShownByNone(tx, effects, task, end, counts);
  if (!countsAfterCover(resourceIn(effects))) await settleCovered(tx, effects, task, counts, null);
  return null;
}

/** Why the stored rows that a window lacked may be there all the same, and what follows instead; null if they are missing. */
async function doubtIn(
  tx: Transaction,
  effects: TransactionEffects,
  step: Ended<'proven'>,
  lacked: readonly LackedRow[],
  isUnreadable: (row: LackedRow) => boolean,
): Promise<{ instead: End | null } | null> {
  const { resource, task, end } = step;
  const { slice, narrow = [], asked, ifLeftOut, ifLacking } = end;
  if (lacked.length === 0 || slice.by !== 'date') return null;
  // What may have come as an unreadable record need not have been left out, and is not deleted for this reading.
  const absent = lacked.filter(row => !isUnreadable(row));
  const days = absent.length > 0 && (narrow.length > 0 || ifLeftOut) ? await daysOf(tx, step, absent) : null;
  const doubts = days === null ? [] : doubtfulEdges(slice, narrow, textsOf(days));
  if (doubts.length > 0) {
    // The next reading pads these edges by a day, whatever other windows show of theirs meanwhile; rows that it lacks as well are missing.
    const edges = doubts.map(({ trait }) => edgeText(trait, slice));
    effects.events.push([task, { kind: 'edges doubted', edges }]);
    for (const doubt of doubts) await remember(tx, effects, task, doubt);
    return { instead: null };
  }
  if (days !== null && asked && ifLeftOut) {
    const leftOut = leftOutOf(resource, asked, days);
    if (leftOut.length > 0) {
      const uncounted = end.reached && !end.reached.counted ? end.reached.rows : null;
      effects.afterCommit.push(() => {
        resource.leftOut = noteLeftOut(resource.leftOut, { window: slice, uncounted, keys: new Set(leftOut) });
      });
      return { instead: ifLeftOut };
    }
  }
  return ifLacking ? { instead: ifLacking } : null;
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

/** Counts the stored rows of a slice, and those of them read since. */
type Count = (slice: Slice, since: string | null) => Promise<StoredCount>;

async function proofOf(
  resource: Resource,
  { end: { slice, startedAt } }: Ended<'proven'>,
  { changed, ...proof }: Proof & { readonly changed: ReadonlySet<string> },
  count: Count,
): Promise<CoverageChange> {
  if (slice.by === 'id')
    return proveInterval(resource, slice, await rowsOf(resource, slice, count), { ...proof, changed });
  const parts = [];
  for (const entry of partsIn(resource, slice)) parts.push({ entry, stored: await count(entry.slice, startedAt) });
  return proveParts(resource, parts, proof);
}

/** Counts the stored rows of the interval, and of what remains of the ranges that it cuts. */
async function rowsOf(resource: Resource, interval: IdSlice, count: Count): Promise<Map<string, number>> {
  const slices = [...cutRanges(resource, interval).flatMap(({ rest }) => rest), interval];
  const rows = new Map<string, number>();
  for (const slice of slices) rows.set(sliceText(slice), (await count(slice, null)).rows);
  return rows;
}

const countIn = (tx: Transaction, resource: Resource, slice: Slice, startedAt: string | null): Promise<StoredCount> =>
  countRows(tx.alone, resource.table, membersOf(resource, slice), startedAt);
