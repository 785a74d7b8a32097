import { DAY } from '../../clock.ts';
import { foundAbsentAt, type List, partition, watched } from '../coverage/list.ts';
import { mayBeAbsent, slicingOf } from '../job.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { uncovered } from '../slices/id-ranges.ts';
import { type DateSlice, type IdSlice, overlap, type Slice, sliceText } from '../slices/slice.ts';
import { pooledPrior } from './change-rates.ts';
import { idle, MOST_PAGES, type Next, type Pause, type PlanFacts, single, type Wish, wants } from './choice.ts';
import { confirm, confirmsAtOnce, confirmsFrom, hasLacked, type LackingSlice, lackingSlices } from './confirm.ts';
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

/**
 * What a task reads next: first what is watched at every sync, then what a hint made due, then the slices that are due, and at
 * the end the rows that went missing.
 */
export function plan(facts: PlanFacts): Next {
  const next = planNow(facts);
  return next === 'done' ? (planPause(facts) ?? next) : next;
}

function planNow(facts: PlanFacts): Next {
  const { list, wish, absent } = facts;
  if (absent) return idle(list);
  if (wish.kind === 'hint') return planHinted(facts);
  // One after the other, so that the allowance holds.
  if (isFrugal(facts) && list.reading.size > 0) return 'blocked';
  return planCount(facts) ?? planWatched(facts) ?? planDue(facts);
}

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
  const from = confirmsFrom(list, lacking);
  const counts = lacking.flatMap(({ countsFrom }) => countsFrom ?? []);
  const later = [...due, ...(canConfirm(facts, from) ? [from, ...counts] : [])].filter(at => at > now);
  if (later.length === 0) return null;
  const until = Math.max(...later);
  const { pauses } = wish.state;
  return pauses.has(until) || pauses.size < MOST_PAUSES ? { until } : null;
}

/** The task may read everything, not only what its allowance pays for. */
const readsAll = ({ wish: { kind, state } }: PlanFacts): boolean =>
  kind === 'verify' || kind === 'backfill' || (kind === 'sync' && state.readsAll === true);

/** A sync that reads only what is left of the limit: it ends where it would have to wait. */
const isFrugal = ({ wish }: PlanFacts): boolean => wish.kind === 'sync' && wish.state.readsAll === false;

/** Whether the allowance pays for this reading of what was read before, as far as its cost is known. The newest rows are always read. */
const isPaid = (facts: PlanFacts, entry: Entry): boolean =>
  !isFrugal(facts) || entry.slice.by === 'newest' || isNewestEnd(entry) || entry.requests <= facts.wish.state.allowance;

/** Requests of a frugal sync count against its allowance. */
const counts = isFrugal;

/** What is being read now may still change what is left to do. */
const isQuiet = ({ list }: PlanFacts): boolean => list.reading.size === 0;

const isFree = ({ list }: PlanFacts, slice: Slice): boolean => ![...list.reading].some(each => overlap(each, slice));

/** What hints point to, in their order, as far as the allowance goes: the next slot finds the rest. */
function planHinted({ list, wish }: PlanFacts): Next {
  const [slice] = wish.state.allowance > 0 ? openTargets(list, wish) : [];
  if (!slice) return idle(list);
  // One after the other, so that the allowance holds.
  if (list.reading.size > 0) return 'blocked';
  return { ...single(slice, true), answers: slice.by === 'id' ? 1 : MOST_PAGES };
}

/** A repair asks how many rows there are before it reads all, to compare with what was read in the end. */
function planCount(facts: PlanFacts): Next | null {
  const { list, wish } = facts;
  const slice: Slice = { by: 'newest' };
  const isAsked = wish.state.counted !== null || wish.state.done.has(sliceText(slice));
  if (wish.kind !== 'verify' || wish.reportOnly || isAsked || list.strategy.partition !== 'date') return null;
  return isQuiet(facts) ? { ...single(slice, counts(facts)), answers: 1 } : 'blocked';
}

/** What is read at every sync, unless this one reads it anyway. */
function planWatched(facts: PlanFacts): Next | null {
  const { list, wish } = facts;
  if (wish.kind !== 'sync' && wish.kind !== 'slot') return null;
  const parts = partition(list);
  const unread = parts.some(entry => entry.provenAt === null);
  const all = readsAll(facts);
  const covered = all || (wish.kind === 'sync' && unread);
  // What is summed up by month has no behaviour to be learnt from its newest end either.
  const monthly = slicingOf(list.job, 'month') !== undefined;
  const isRead = parts.every(({ provenAt }) => (provenAt ?? 0) >= wish.since);
  const readsMonths = facts.monthsHold ? isRead : all || unread;
  const needless = ({ slice }: Entry) =>
    (covered && slice.by === 'value') || (monthly && readsMonths && slice.by === 'newest');
  const due = watched(list).find(
    entry =>
      (entry.readAt ?? 0) < (entry.slice.by === 'value' ? (wish.valuesSince ?? wish.since) : wish.since) &&
      !wish.state.done.has(sliceText(entry.slice)) &&
      !needless(entry) &&
      isPaid(facts, entry),
  );
  if (!due) return null;
  if (!isFree(facts, due.slice)) return 'blocked';
  if (due.slice.by !== 'newest') return { ...single(due.slice, counts(facts)), answers: Number.POSITIVE_INFINITY };
  // A first load reads these rows anyway; two pages show how the list behaves.
  const answers = parts.every(({ provenAt }) => provenAt === null) ? 2 : MOST_PAGES;
  return { ...single(due.slice, counts(facts)), answers };
}

function planDue(facts: PlanFacts): Next {
  const { list, wish, missing } = facts;
  const all = readsAll(facts);
  const mayReread = wish.state.allowance > 0;
  const lacking = !wish.reportOnly && (all || mayReread) ? lackingSlices(list, missing) : [];
  const due = dueEntries(facts, lacking);
  const best = bestOf(facts, due, lacking);
  if (best) return best;
  if (due.length > 0 || !isQuiet(facts)) return 'blocked';
  // Whether a sync reads everything again is decided once every list was read in full for the first time.
  if (wish.kind === 'sync' && wish.state.readsAll === null) return 'blocked';
  if (wish.kind === 'slot' || wish.reportOnly || (counts(facts) && !mayReread)) return idle(list);
  return confirm(facts, counts(facts));
}

/** The parts of the list that the task has to read. */
function dueEntries(facts: PlanFacts, lacking: readonly LackingSlice[]): Entry[] {
  const { list, wish, now } = facts;
  const all = readsAll(facts);
  const mayReread = wish.state.allowance > 0;
  const from = confirmsFrom(list, lacking);
  const parts = partition(list);
  const confirms = (from <= now || confirmsAtOnce(list, lacking)) && canConfirm(facts, from);
  const open = parts.filter(entry => !wish.state.done.has(sliceText(entry.slice)));
  const entries = wish.reportOnly ? open.flatMap(entry => unreported(wish, entry)) : open;
  return entries.filter(entry => {
    if (!wants(wish, entry.slice)) return false;
    // What was never read has nothing to be compared with; the report names it.
    if (wish.reportOnly) return entry.provenAt !== null;
    if (entry.provenAt === null) return true;
    if (wish.kind === 'slot') return isHinted(entry, now) || (isNewestEnd(entry) && entry.provenAt < wish.since);
    if (!isPaid(facts, entry)) return false;
    if ((confirms && entry.provenAt < from) || isHinted(entry, now)) return true;
    if (facts.monthsHold) return false;
    return entry.provenAt < wish.since && (all || mayReread || isNewestEnd(entry));
  });
}

/** Whether the task reads all of the cover that is older than `from`: a part of it confirms nothing. */
const canConfirm = ({ list, wish }: PlanFacts, from: number): boolean =>
  partition(list).every(({ slice, provenAt }) => (provenAt ?? 0) >= from || wants(wish, slice));

/** The best of the slices that are due and free, with its neighbours where one reading serves several. */
function bestOf(facts: PlanFacts, due: readonly Entry[], lacking: readonly LackingSlice[]): Next | null {
  const { list, wish, now } = facts;
  const all = readsAll(facts);
  // The end where rows are added, and what a hint points to, come before all else.
  const hinted = due.filter(entry => isHinted(entry, now) || isNewestEnd(entry));
  const urgent = hinted.length > 0 ? hinted : due;
  const startable = urgent.filter(entry => isFree(facts, entry.slice));
  // While any other is due, or being read, what lacked rows waits.
  const waits = (entry: Entry) => hasLacked(entry, lacking);
  const candidates = urgent.every(waits) ? startable : startable.filter(entry => !waits(entry));
  const best = nextSlice(candidates, pooledPrior(list.entries.values(), now), now);
  if (!best) return null;
  const { slice } = best;
  const first = all || best.provenAt === null;
  const pays = counts(facts) || (wish.kind === 'sync' && !first);
  if (slice.by === 'id') return chainIds(list, best as Entry & { slice: IdSlice }, startable, pays, first);
  if (slice.by === 'date' && first && list.strategy.membership === 'date')
    return gatherDates(list, best as Entry & { slice: DateSlice }, candidates, {
      counted: pays,
      done: wish.state.done,
    });
  return { ...single(slice, pays), answers: slice.by === 'whole' ? Number.POSITIVE_INFINITY : MOST_PAGES };
}

/** Something was seen to happen in it since it was last proven, and is to be looked at now. */
const isHinted = ({ dueSince, provenAt }: Entry, now: number): boolean =>
  dueSince !== null && dueSince > (provenAt ?? 0) && dueSince <= now;

/** Where a list in id order grows. */
const isNewestEnd = ({ slice }: Entry): boolean => slice.by === 'id' && slice.to === null;

// The answers of an id list keep to no slice's bounds: for a report, what is left of one is what its intervals do not cover.
function unreported({ state }: Wish, entry: Entry): Entry[] {
  if (entry.slice.by !== 'id') return [entry];
  return uncovered(entry.slice, state.intervals).map(slice => ({ ...entry, slice }));
}
