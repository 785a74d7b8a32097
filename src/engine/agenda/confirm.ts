import { DAY, stampMs } from '../../clock.ts';
import { isContentKey } from '../../source/paging/row-key.ts';
import type { MissingRow } from '../../warehouse/rows/missing-rows.ts';
import { countsAfterCover } from '../coverage/hidden-rows.ts';
import {
  type List,
  lagOf,
  oldestProof,
  partition,
  requestsForAll,
  unfilteredFor,
  unfilteredReadAt,
} from '../coverage/list.ts';
import { unreadBeside } from '../coverage/targeted.ts';
import { confirmationOf, isInDoubt } from '../deletion/is-deleted.ts';
import { mayShowAgain } from '../profile/observe-address.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { overlap, parseSlice, type Slice, sliceText } from '../slices/slice.ts';
import { type Choice, type PlanFacts, single } from './choice.ts';
import { firstOf } from './worth.ts';

/** A slice that lacked rows which only a whole cover confirms. */
export interface LackingSlice {
  readonly slice: Slice;
  /** When the last of them had gone missing (epoch ms). */
  readonly last: number;
  /**
   * It lacked half of its rows: from when on another reading of it counts (epoch ms), 0 for at once. Null where no other is needed.
   */
  readonly countsFrom: number | null;
}

export function lackingSlices(list: List, missing: readonly MissingRow[]): LackingSlice[] {
  const found = new Map<string, LackingSlice>();
  for (const row of missing) {
    if (isContentKey(row.key) || confirmationOf(row, list.strategy) !== 'cover') continue;
    const at = stampMs(row.since);
    const known = found.get(row.slice) ?? { slice: parseSlice(row.slice), last: at, countsFrom: null };
    const countsFrom = isInDoubt(row, list.strategy) ? Math.max(known.countsFrom ?? 0, countsAgainAt(list, row)) : null;
    found.set(row.slice, { ...known, last: Math.max(known.last, at), countsFrom: countsFrom ?? known.countsFrom });
  }
  return [...found.values()];
}

const countsAgainAt = ({ lagMs = 0 }: List, { since, lackedAt = since }: MissingRow): number =>
  lagMs === 0 ? 0 : stampMs(lackedAt) + lagMs + 1;

/**
 * The moment from which on readings of a whole cover confirm, that of the slice that lacked a row included; 0 if there is nothing to
 * confirm. An answer that lags behind may be older than the move of a row that another slice has already lost, and may be the same that
 * lacked half of its rows.
 */
export const confirmsFrom = (list: List, lacking: readonly LackingSlice[]): number =>
  Math.max(0, ...lacking.map(each => each.last + 1 + lagAfter(list, each)));

/**
 * Covers that a task reads only to confirm what went missing. What goes missing meanwhile waits for the next task: else a task on a source
 * that deletes rows all the time would never end.
 */
export const MOST_COVERS = 2;

/** As `confirmsFrom`, for one task: a cover that it has begun is read to its end, although more rows went missing since. */
export function coverFrom(
  { list, wish: { state } }: Pick<PlanFacts, 'list' | 'wish'>,
  lacking: readonly LackingSlice[],
): number {
  const from = confirmsFrom(list, lacking);
  const begun = state.covers.at(-1);
  if (from === 0 || begun === undefined) return from;
  const mayBegin = state.covers.length < MOST_COVERS && (oldestProof(list) ?? 0) >= begun;
  return mayBegin ? from : Math.min(from, begun);
}

/** Whatever is read from now on confirms. */
export const confirmsAtOnce = (list: List, lacking: readonly LackingSlice[]): boolean =>
  lacking.every(each => lagAfter(list, each) === 0);

const lagAfter = (list: List, { countsFrom }: LackingSlice): number =>
  countsFrom === null ? lagOf(list) : (list.lagMs ?? 0);

/**
 * What lacked rows is read again after all others, because they may show those rows, and because a source that has just answered wrongly would
 * probably do so again.
 */
export function othersFirst(entries: readonly Entry[], lacking: readonly LackingSlice[]): readonly Entry[] {
  const others = entries.filter(entry => !hasLacked(entry, lacking));
  return others.length > 0 ? others : entries;
}

const hasLacked = ({ slice }: Entry, lacking: readonly LackingSlice[]): boolean =>
  lacking.some(each => each.slice.by === slice.by && overlap(each.slice, slice));

/** It lacked half of its rows, and another reading of it counts by now. */
export const countsAgain = (entry: Entry, lacking: readonly LackingSlice[], now: number): boolean =>
  hasLacked(
    entry,
    lacking.filter(({ countsFrom }) => countsFrom !== null && countsFrom <= now),
  );

/** The newest end, among what a task has asked for. */
const NEWEST = sliceText({ by: 'newest' });

/** The question that confirms a missing row; null where none does now. */
export function confirm(facts: PlanFacts): Choice | null {
  // None of them may be deleted: asking for each would cost a request a row.
  if (facts.wish.state.failure?.kind === 'fuse') return null;
  return confirmRow(facts) ?? confirmReplaced(facts) ?? confirmByCover(facts);
}

/** One row or one related value at a time. */
export function confirmRow({ list, wish, missing, now }: PlanFacts): Choice | null {
  const open = missing.filter(row => !isContentKey(row.key) && !wish.state.asked.has(row.key));
  for (const row of open) {
    const beside = unreadBeside(list, row);
    // The range where the list grows is cut anew at each reading.
    const key = beside === null ? row.key : beside.by === 'id' ? NEWEST : sliceText(beside);
    const slice = beside ?? sliceFor(list, row, now);
    if (!slice || wish.state.asked.has(key)) continue;
    if ([...list.reading].some(other => other.by === slice.by || overlap(other, slice))) continue;
    // Where the newest rows come last, the range that holds them is read to its end.
    const answers = beside?.by === 'id' && list.profile.order === 'id-asc' ? Number.POSITIVE_INFINITY : 1;
    // One try for each task: what it does not settle waits for the next.
    return { ...single(slice), answers, asks: { row: key } };
  }
  return null;
}

/** Content that a window lacks may be shown without a filter. */
function confirmReplaced(facts: PlanFacts): Choice | null {
  const { list, wish, missing } = facts;
  const unfiltered = unfilteredFor(list);
  const replaced = missing.filter(row => isContentKey(row.key));
  if (unfiltered === null || replaced.length === 0 || wish.state.asked.has(NEWEST) || list.reading.size > 0)
    return null;
  if (replaced.every(row => unfilteredReadAt(list) > stampMs(row.since))) return null;
  return unfiltered === 'all'
    ? unfilteredChoice(unfiltered, facts)
    : { ...single({ by: 'newest' }), answers: 1, asks: { row: NEWEST } };
}

/** The slice whose answer confirms this row by itself; null where only a whole cover does. */
function sliceFor({ profile, strategy }: List, row: MissingRow, now: number): Slice | null {
  switch (confirmationOf(row, strategy)) {
    case 'address':
      return mayShowAgain(profile, now) ? null : { by: 'one', key: row.key };
    case 'value':
      return wasShown(row, now)
        ? null
        : { by: 'value', field: strategy.relatedBy as string, value: row.value as string };
    case 'neighbours':
      return { by: 'id', from: BigInt(row.key), to: BigInt(row.key) };
    case 'cover':
      return null;
  }
}

/** Its related rows have shown it within a day. */
const wasShown = ({ shownAt = null }: MissingRow, now: number): boolean =>
  shownAt !== null && now - stampMs(shownAt) < DAY;

function unfilteredChoice(what: 'newest end' | 'all', { list, wish: { kind, state } }: PlanFacts): Choice | null {
  const slice: Slice = { by: 'newest' };
  if (what === 'newest end') return single(slice);
  // One try for each task that can pay for it.
  const isPaid = kind !== 'sync' || state.readsAll === true || requestsForAll(list) <= state.allowance;
  const mayAsk = isPaid && !state.coverAsked.has(NEWEST);
  return mayAsk ? { ...single(slice), answers: Number.POSITIVE_INFINITY, asks: 'all' } : null;
}

/**
 * The cover may be read already: where the last way to confirm has just been lost, and where half of a slice went missing, which takes
 * one reading of it more. Each slice that lacked half is read once more; else the list's count concludes, or, without one, one part of the
 * cover: the smallest, as one that has become too large would be cut instead.
 */
function confirmByCover(facts: PlanFacts): Choice | null {
  const { list, wish, missing, now } = facts;
  const slices = lackingSlices(list, missing);
  const since = coverFrom(facts, slices);
  const covered = since > 0 && (oldestProof(list) ?? 0) >= since;
  if (!covered || list.reading.size > 0) return null;
  const { coverAsked } = wish.state;
  const parts = partition(list);
  const lacking = parts.filter(entry => !coverAsked.has(sliceText(entry.slice)) && countsAgain(entry, slices, now));
  if (lacking.length === 0 && slices.some(({ countsFrom }) => countsFrom !== null)) return null;
  const candidates = lacking.length > 0 ? lacking : parts;
  // Ranges of ids are cut anew at each reading: the number of parts bounds how often they are asked for.
  const again = coverAsked.size - Number(coverAsked.has(NEWEST));
  if (again > 0 && (lacking.length === 0 || again >= parts.length)) return null;
  const unfiltered = unfilteredFor(list);
  if (unfiltered !== null && unfilteredReadAt(list) < since) return unfilteredChoice(unfiltered, facts);
  // Where a count concludes, what one more window leaves out would seem to be missing just before.
  if (lacking.length === 0 && countsAfterCover(list)) return null;
  const size = ({ rows }: Entry) => rows ?? Number.POSITIVE_INFINITY;
  const part = firstOf(candidates, (a, b) => size(a) < size(b)) as Entry;
  return { ...single(part.slice), answers: Number.POSITIVE_INFINITY, asks: 'cover' };
}
