import { DAY, stampMs } from '../../clock.ts';
import type { MissingRow } from '../../warehouse/rows/missing-rows.ts';
import { foundAbsentAt, type List, partition, watched } from '../coverage/list.ts';
import { confirmsByWatched } from '../coverage/targeted.ts';
import { mayBeAbsent, slicingOf } from '../job.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { uncovered } from '../slices/id-ranges.ts';
import { type DateSlice, type IdSlice, overlap, parseSlice, type Slice, sliceText } from '../slices/slice.ts';
import { pooledPrior } from './change-rates.ts';
import {
  type Choice,
  isChoice,
  isDue,
  isFree,
  type ListInUse,
  type Next,
  type Pause,
  type PlanFacts,
  single,
  type Wish,
  wants,
} from './choice.ts';
import {
  confirm,
  confirmRow,
  confirmsAtOnce,
  coverFrom,
  type LackingSlice,
  lackingSlices,
  othersFirst,
} from './confirm.ts';
import { chainIds, gatherDates } from './gather.ts';
import { nextSlice } from './next-slice.ts';

/**
 * A list known not to be offered: a schedule asks again once a day; a report has nothing to compare. A list that every source has is
 * only empty, so each tick asks for it.
 */
export function isKnownAbsent(list: List, { kind, reportOnly }: Wish, now: number): boolean {
  const absentAt = foundAbsentAt(list);
  return (
    absentAt !== null &&
    (reportOnly || ((kind === 'slot' || kind === 'agenda') && mayBeAbsent(list.job) && now - absentAt < DAY))
  );
}

/** What hints point to and can still be read: a window that was cut in the meantime would be cut once more. */
export function openTargets(list: List, { state: { targets } }: Pick<Wish, 'state'>): readonly Slice[] {
  const first = targets.findIndex(slice => slice.by !== 'date' || list.entries.has(sliceText(slice)));
  return first < 0 ? [] : targets.slice(first);
}

/** What is left of the targets once a reading of `slice` has begun. A refresh keeps its own: windows may be cut, and filters ignored. */
export const targetsBeside = (list: List, wish: Pick<Wish, 'kind' | 'state'>): readonly Slice[] =>
  wish.kind === 'refresh' ? wish.state.targets : openTargets(list, wish).slice(1);

/**
 * What a task reads next. Hints: their targets and nothing else. A refresh: what it names, and what confirms the rows that this lacks. Others: the count (a repair, or a sync whose newest end was read already), what
 * is watched, the slices that are due, and at the end what confirms the rows that went missing.
 */
export function plan(facts: PlanFacts): Next {
  const next = planNow(facts);
  if (isChoice(next) && (isMetered(facts) || isValueOfSlot(facts, next.slice))) return { ...next, metered: true };
  return next === 'done' ? (planPause(facts) ?? next) : next;
}

function planNow(facts: PlanFacts): Next {
  const { list, wish, absent } = facts;
  // One after the other, so that the allowance holds.
  if ((absent || isMetered(facts)) && list.reading.size > 0) return 'blocked';
  if (absent) return 'done';
  if (wish.kind === 'refresh') return planRefresh(facts);
  if (wish.kind !== 'hint') return planCount(facts) ?? planWatched(facts) ?? planDue(facts);
  // As far as the allowance goes: the next slot finds the rest.
  const [target] = wish.state.allowance > 0 ? openTargets(list, wish) : [];
  return target ? single(target) : 'done';
}

/**
 * What was named comes first, then the windows that may hold the rows that it lacked, then the newest end, and at last what confirms that the rows
 * are gone.
 */
function planRefresh(facts: PlanFacts): Next {
  const { list, wish, missing, now } = facts;
  const { targets, done } = wish.state;
  const open = targets.filter(target => !isRange(target) && !done.has(sliceText(target)));
  const record = open.find(({ by }) => by !== 'newest');
  if (record) return orBlocked(list, single(record));
  const due = partition(list).filter(entry => {
    const { slice, provenAt, dueSince } = entry;
    if (done.has(sliceText(slice)) || (provenAt ?? 0) >= wish.since) return false;
    return isNamed(targets, slice) || (isDue(entry, now) && (dueSince ?? 0) >= wish.since);
  });
  const best = bestDue(facts, due, []);
  if (best) return best;
  if (due.length > 0) return 'blocked';
  // Afterwards: a row that lies in no window must not seem to have left one.
  const [newest] = open;
  if (newest) return orBlocked(list, single(newest));
  if (wish.state.failure) return 'done';
  const gone = missing.filter(row => stampMs(row.since) >= wish.since || isAbout(list, targets, row));
  // What is being read now may show them.
  if (gone.length > 0 && list.reading.size > 0) return 'blocked';
  return confirmRow({ ...facts, missing: gone }) ?? 'done';
}

/** Whether a slice may hold rows of the days or ids that a refresh names. A list that is cut in another way holds them anywhere. */
export const isNamed = (targets: readonly Slice[], slice: Slice): boolean =>
  targets.some(target => isRange(target) && (slice.by !== target.by || overlap(slice, target)));

/** Whether a missing row lies in what a refresh names. */
export const isAbout = ({ strategy }: List, targets: readonly Slice[], row: MissingRow): boolean =>
  isNamed(targets, parseSlice(row.slice)) ||
  targets.some(target => {
    if (target.by === 'one') return target.key === row.key;
    if (target.by !== 'value') return false;
    const isRelated = target.field === strategy.relatedBy && target.value === row.value;
    return isRelated || (row.watched != null && sliceText(row.watched) === sliceText(target));
  });

const isRange = ({ by }: Slice): boolean => by === 'date' || by === 'id';

/** Pauses of one task: a source that shows and hides a row again and again must not keep it waiting. */
export const MOST_PAUSES = 3;

/** A repair waits until answers can no longer lag behind what it has just read; others leave that to the next run. */
function planPause(facts: PlanFacts): Pause | null {
  const { list, wish, now, missing } = facts;
  if (wish.kind !== 'verify' || wish.reportOnly || wish.state.failure) return null;
  // The rows that it lacked have been shown since by other slices.
  const isSettled = (slice: Slice) => wish.state.justLacked.get(sliceText(slice))?.size === 0;
  const due = partition(list).flatMap(({ slice, dueSince }) =>
    wants(wish, slice) && !isSettled(slice) ? (dueSince ?? []) : [],
  );
  const lacking = lackingSlices(list, missing);
  const from = coverFrom(facts, lacking);
  const counts = lacking.flatMap(({ countsFrom }) => countsFrom ?? []);
  const until = Math.max(now, ...due, ...(canConfirm(facts, from) ? [from, ...counts] : []));
  const { pauses } = wish.state;
  return until > now && (pauses.has(until) || pauses.size < MOST_PAUSES) ? { until } : null;
}

/** The task may read everything, not only what its allowance pays for. */
const mayReadAll = ({ wish: { kind, state } }: PlanFacts): boolean =>
  kind === 'verify' || kind === 'backfill' || kind === 'refresh' || (kind === 'sync' && state.readsAll === true);

/** The task may read again what was read before, and so confirm what is missing. */
const rereads = (facts: PlanFacts): boolean =>
  !facts.wish.reportOnly && (mayReadAll(facts) || (facts.wish.kind === 'sync' && facts.wish.state.allowance > 0));

/** Its requests count against an allowance: hints, and a sync that reads only what is left of the limit and ends where it would have to wait. */
const isMetered = ({ wish: { kind, state } }: PlanFacts): boolean =>
  kind === 'hint' || (kind === 'sync' && state.readsAll === false);

/** A tick reads the values that a job watches, if that costs little: thousands of open invoices would leave nothing for all else. */
const isValueOfSlot = ({ wish }: PlanFacts, slice: Slice): boolean => wish.kind === 'slot' && slice.by === 'value';

/** Whether the allowance pays for this reading of what was read before, as far as its cost is known. The newest rows are always read. */
function isPaid(facts: PlanFacts, entry: Entry): boolean {
  const { slice, readAt, requests } = entry;
  const costs = isMetered(facts) || (isValueOfSlot(facts, slice) && readAt !== null);
  return !costs || slice.by === 'newest' || isNewestEnd(entry) || requests <= facts.wish.state.allowance;
}

/** A task waits for what is in the way of its best question. */
const orBlocked = (list: ListInUse, choice: Choice): Next => (isFree(list, choice.slice) ? choice : 'blocked');

/** What reads all asks how many rows there are before, to compare with what was read in the end. */
function planCount(facts: PlanFacts): Next | null {
  const { list, wish } = facts;
  const { counted, done } = wish.state;
  if (counted !== null || done.has('newest') || wish.reportOnly || list.strategy.partition !== 'date') return null;
  // A sync reads the newest end anyway, unless another task has since it was asked for.
  const newest = watched(list).find(({ slice }) => slice.by === 'newest');
  const isFirst = partition(list).every(({ provenAt }) => (provenAt ?? 0) < wish.since);
  const isSkipped = isFirst && mayReadAll(facts) && list.total != null && (newest?.readAt ?? 0) >= wish.since;
  if (wish.kind !== 'verify' && !(wish.kind === 'sync' && isSkipped)) return null;
  // What is being read now may still change the count.
  return list.reading.size > 0 ? 'blocked' : { ...single({ by: 'newest' }), answers: 1 };
}

/** What syncs and slots always read, unless this one reads it anyway. */
function planWatched(facts: PlanFacts): Next | null {
  const { list, wish, monthsHold } = facts;
  if (wish.kind !== 'sync' && wish.kind !== 'slot') return null;
  const parts = partition(list);
  const unread = parts.some(entry => entry.provenAt === null);
  const all = mayReadAll(facts);
  const covered = all || (wish.kind === 'sync' && unread);
  // What is summed up by month has no behaviour to be learnt from its newest end either.
  const monthly = slicingOf(list.job, 'month') !== undefined;
  const readsMonths = monthsHold ? parts.every(({ provenAt }) => (provenAt ?? 0) >= wish.since) : all || unread;
  const due = watched(list).find(entry => {
    const isNewest = entry.slice.by === 'newest';
    const since = isNewest ? wish.since : (wish.valuesSince ?? wish.since);
    // The list may leave out what the filter by a watched value shows.
    const needless = isNewest ? monthly && readsMonths : covered && !confirmsByWatched(list);
    const isRead = (entry.readAt ?? 0) >= since || wish.state.done.has(sliceText(entry.slice));
    return !isRead && !needless && isPaid(facts, entry);
  });
  if (!due) return null;
  // A first load reads these rows anyway; two pages show how the list behaves.
  const isFirst = due.slice.by === 'newest' && parts.every(({ provenAt }) => provenAt === null);
  return orBlocked(list, isFirst ? { ...single(due.slice), answers: 2 } : single(due.slice));
}

function planDue(facts: PlanFacts): Next {
  const { list, wish, missing } = facts;
  const lacking = rereads(facts) ? lackingSlices(list, missing) : [];
  const { due, confirmsFrom } = dueEntries(facts, lacking);
  const best = bestDue(facts, due, lacking);
  if (best) return isChoice(best) && confirmsFrom !== null ? { ...best, confirmsFrom } : best;
  // What is being read now may still change what is left to do.
  if (due.length > 0 || list.reading.size > 0) return 'blocked';
  // Whether a sync reads everything again is decided once every list was read in full for the first time.
  if (wish.kind === 'sync' && wish.state.readsAll === null) return 'blocked';
  return (rereads(facts) && confirm(facts)) || 'done';
}

/** The parts of the list that the task has to read: those that it has not proven, then once more those that confirm what went missing. */
function dueEntries(
  facts: PlanFacts,
  lacking: readonly LackingSlice[],
): { readonly due: readonly Entry[]; readonly confirmsFrom: number | null } {
  const { list, wish, now, monthsHold } = facts;
  const { done } = wish.state;
  const open = partition(list).filter(({ slice }) => wants(wish, slice) && !done.has(sliceText(slice)));
  // What was never read has nothing to be compared with; the report names it.
  if (wish.reportOnly) {
    const due = open.flatMap(entry => (entry.provenAt === null ? [] : unreported(entry, wish.state.intervals)));
    return { due, confirmsFrom: null };
  }
  const again = rereads(facts);
  const due = open.filter(entry => {
    const { provenAt } = entry;
    if (provenAt === null) return true;
    if (!isPaid(facts, entry)) return false;
    return isDue(entry, now) || (!monthsHold && provenAt < wish.since && (again || isNewestEnd(entry)));
  });
  if (due.length > 0) return { due, confirmsFrom: null };
  const from = coverFrom(facts, lacking);
  const confirms = (from <= now || confirmsAtOnce(list, lacking)) && canConfirm(facts, from);
  if (!confirms) return { due, confirmsFrom: null };
  return { due: open.filter(entry => isPaid(facts, entry) && (entry.provenAt ?? 0) < from), confirmsFrom: from };
}

/** Whether the task reads all of the cover that is older than `from`: a part of it confirms nothing. */
const canConfirm = ({ list, wish }: PlanFacts, from: number): boolean =>
  partition(list).every(({ slice, provenAt }) => (provenAt ?? 0) >= from || wants(wish, slice));

/** The best of the slices that are due and free, with its neighbours where one reading serves several. */
function bestDue(facts: PlanFacts, due: readonly Entry[], lacking: readonly LackingSlice[]): Next | null {
  const { list, wish, now } = facts;
  // The end where rows are added, and what a hint points to, come before all else.
  const first = due.filter(entry => isDue(entry, now) || isNewestEnd(entry));
  const urgent = first.length > 0 ? first : due;
  const candidates = leastTried(othersFirst(urgent, lacking), facts).filter(({ slice }) => isFree(list, slice));
  const best = nextSlice(candidates, pooledPrior(list.entries.values(), now), now);
  if (!best) return null;
  const { slice, provenAt } = best;
  if (slice.by === 'id' && list.reading.size > 0) return 'blocked';
  if (provenAt !== null && !mayReadAll(facts)) return single(slice, wish.kind === 'sync');
  if (slice.by === 'id') return chainIds(list, best as Entry & { slice: IdSlice }, urgent);
  if (slice.by !== 'date' || list.strategy.membership !== 'date') return single(slice);
  return orBlocked(list, gatherDates(list, best as Entry & { slice: DateSlice }, candidates, wish.state.done));
}

/**
 * What may have been cut off waits until the others were read as often: they may show that it was complete. Where the source counts, nothing
 * else tells what is wrong.
 */
function leastTried(entries: readonly Entry[], { list, wish }: PlanFacts): readonly Entry[] {
  const { tries } = wish.state;
  if (tries.size === 0 || list.total !== null) return entries;
  const triesOf = ({ slice }: Entry) => tries.get(sliceText(slice)) ?? 0;
  const least = entries.reduce((fewest, entry) => Math.min(fewest, triesOf(entry)), Number.POSITIVE_INFINITY);
  return entries.filter(entry => triesOf(entry) === least);
}

/** Where a list in id order grows. */
const isNewestEnd = ({ slice }: Entry): boolean => slice.by === 'id' && slice.to === null;

// The answers of an id list keep to no slice's bounds: for a report, what is left of one is what its intervals do not cover.
const unreported = (entry: Entry, intervals: readonly IdSlice[]): Entry[] =>
  entry.slice.by === 'id' ? uncovered(entry.slice, intervals).map(slice => ({ ...entry, slice })) : [entry];
