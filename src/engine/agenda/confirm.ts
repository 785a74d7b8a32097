import { stampMs } from '../../warehouse/database/stamp.ts';
import type { MissingRow } from '../../warehouse/rows/missing-rows.ts';
import { type List, lagOf, needsUnfiltered, oldestProof, partition, unfilteredReadAt } from '../coverage/list.ts';
import { confirmationOf, isInDoubt } from '../deletion/is-deleted.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { overlap, parseSlice, type Slice, sliceText } from '../slices/slice.ts';
import { idle, type Next, type PlanFacts, single } from './choice.ts';

/** A slice that lacked rows which only a whole cover confirms, and when (epoch ms) the last of them had gone missing. */
export interface LackingSlice {
  readonly slice: Slice;
  readonly last: number;
}

export function lackingSlices(list: List, missing: readonly MissingRow[]): LackingSlice[] {
  const found = new Map<string, LackingSlice>();
  for (const row of missing) {
    if (confirmationOf(row, list.strategy) !== 'cover') continue;
    const at = stampMs(row.since);
    const { slice, last } = found.get(row.slice) ?? { slice: parseSlice(row.slice), last: at };
    found.set(row.slice, { slice, last: Math.max(last, at) });
  }
  return [...found.values()];
}

/**
 * The moment from which on readings of a whole cover confirm, that of the slice that lacked a row included; 0 if there is nothing to
 * confirm. An answer that lags behind may be older than the move of a row that another slice has already lost.
 */
export const confirmsFrom = (list: List, lacking: readonly LackingSlice[]): number =>
  lacking.length === 0 ? 0 : Math.max(...lacking.map(({ last }) => last + 1)) + lagOf(list);

/**
 * True for a slice that lacked rows. It is read again after all others, because they may show those rows, and because a source that
 * has just answered wrongly would probably do so again.
 */
export const hasLacked = ({ slice }: Entry, lacking: readonly LackingSlice[]): boolean =>
  lacking.some(each => each.slice.by === slice.by && overlap(each.slice, slice));

/** The question that confirms a missing row, one row or one related value at a time. */
export function confirm(facts: PlanFacts, counted: boolean): Next {
  const { list, wish, missing } = facts;
  // None of them may be deleted: asking for each would cost a request a row.
  if (wish.failure?.kind === 'fuse') return idle(list);
  const open = missing.filter(row => !row.key.startsWith('#') && !wish.progress.asked.has(row.key));
  for (const row of open) {
    const slice = questionFor(list, row);
    if (!slice || [...list.reading].some(other => other.by === slice.by || overlap(other, slice))) continue;
    // One try for each task: what it does not settle waits for the next.
    return { ...single(slice, counted), answers: 1, asks: { row: row.key } };
  }
  return confirmByCover(facts, counted);
}

/** The slice whose answer confirms this row by itself; null where only a whole cover does. */
function questionFor({ strategy }: List, row: MissingRow): Slice | null {
  switch (confirmationOf(row, strategy)) {
    case 'address':
      return { by: 'one', key: row.key };
    case 'value':
      return { by: 'value', field: strategy.relatedBy as string, value: row.value as string };
    case 'neighbours':
      return { by: 'id', from: BigInt(row.key), to: BigInt(row.key) };
    case 'cover':
      return null;
  }
}

/**
 * The cover may be read already: where the last way to confirm has just been lost, and where half of a slice went missing, which takes
 * one reading of it more. Each slice that lacked half is read once more; else one part of the cover concludes, the smallest, as one
 * that has become too large would be cut instead.
 */
function confirmByCover({ list, wish, missing }: PlanFacts, counted: boolean): Next {
  const since = confirmsFrom(list, lackingSlices(list, missing));
  const covered = since > 0 && (oldestProof(list) ?? 0) >= since;
  if (!covered || list.reading.size > 0) return idle(list);
  const { coverAsked } = wish.progress;
  const parts = partition(list);
  const doubted = missing.filter(row => isInDoubt(row, list.strategy)).map(row => parseSlice(row.slice));
  const lacking = parts.filter(
    ({ slice }) => !coverAsked.has(sliceText(slice)) && doubted.some(each => overlap(slice, each)),
  );
  const candidates = lacking.length > 0 ? lacking : parts;
  // Ranges of ids are cut anew at each reading: the number of parts bounds how often they are asked for.
  if (coverAsked.size > 0 && (lacking.length === 0 || coverAsked.size >= parts.length)) return idle(list);
  if (needsUnfiltered(list) && unfilteredReadAt(list) < since) return single({ by: 'newest' }, counted);
  const size = ({ rows }: Entry) => rows ?? Number.POSITIVE_INFINITY;
  const part = candidates.reduce((least, each) => (size(each) < size(least) ? each : least));
  return { ...single(part.slice, counted), answers: Number.POSITIVE_INFINITY, asks: 'cover' };
}
