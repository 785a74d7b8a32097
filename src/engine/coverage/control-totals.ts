import type { Observation } from '../profile/observation.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { monthRange, overlapDays } from '../slices/date-windows.ts';
import { sliceText, type TotalSlice } from '../slices/slice.ts';
import { type List, partition } from './list.ts';
import type { CoverageChange } from './prove.ts';

/** Months fully read whose totals the source puts otherwise, before its totals are taken to follow other rules. */
const MOST_DISAGREEING = 2;

/** Sums by name: as the source says them, and as the stored rows add up. */
export interface Totals {
  readonly said: Readonly<Record<string, unknown>>;
  readonly stored: Readonly<Record<string, string>>;
  /** The sums that are compared. */
  readonly names: readonly string[];
}

/**
 * What follows from the source's totals of a month, asked at `at` (epoch ms). They decide what is read first, and nothing else. They
 * are believed once they were seen to agree with a month that was read in full.
 */
export function compareTotals(
  list: List,
  slice: TotalSlice,
  at: number,
  totals: Totals,
): Partial<CoverageChange> & { readonly observed?: Observation } {
  const dueReason = differenceOf(totals);
  const before = list.entries.get(sliceText(slice));
  const asked: Entry = {
    slice,
    provenAt: null,
    readAt: at,
    requests: 1,
    rows: null,
    changed: 0,
    hoursWatched: 0,
    dueSince: null,
    dueReason,
  };
  if (list.profile.controlTotals === null) {
    const observed = observeTotals(list, slice, totals, dueReason);
    return observed ? { put: [asked], observed } : { put: [asked] };
  }
  // What still disagrees after it was read again is reported, and not obeyed.
  if (dueReason === null || dueReason === before?.dueReason) return { put: [asked] };
  const range = monthRange(slice.month);
  const windows = partition(list).filter(entry => entry.slice.by === 'date' && overlapDays(entry.slice, range) > 0);
  const reason = `the source's total of ${slice.month} is not what its rows sum up to`;
  return { put: [asked, ...windows.map(entry => ({ ...entry, dueSince: at, dueReason: reason }))] };
}

function differenceOf({ said, stored, names }: Totals): string | null {
  const texts = names
    .filter(name => !isSame(said[name], stored[name] ?? '0'))
    .map(name => `${name}: the source says ${String(said[name])}, the rows sum up to ${stored[name]}`);
  return texts.length > 0 ? texts.join('; ') : null;
}

function observeTotals(
  list: List,
  slice: TotalSlice,
  { stored }: Totals,
  dueReason: string | null,
): Observation | null {
  if (dueReason === null) {
    const isEmpty = Object.values(stored).every(sum => Number(sum) === 0);
    const evidence = `${slice.month} was read in full, and both sum it up alike`;
    return isEmpty ? null : { trait: 'control totals', value: 'agree', evidence };
  }
  const others = [...list.entries.values()].filter(
    each => each.slice.by === 'total' && each.slice.month !== slice.month && each.dueReason !== null,
  );
  return others.length + 1 >= MOST_DISAGREEING
    ? { trait: 'control totals', value: 'other rules', evidence: dueReason }
    : null;
}

/** Equal to the cent: a source may sum with doubles. */
function isSame(said: unknown, sum: string): boolean {
  const number = typeof said === 'number' || typeof said === 'string' ? Number(said) : Number.NaN;
  return Math.abs(number - Number(sum)) < 0.005;
}
