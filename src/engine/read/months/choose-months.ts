import type { Entry } from '../../slices/coverage-entry.ts';
import { type Day, monthBefore } from '../../slices/date-windows.ts';

/** A reading of all months ends after this many empty ones in a row: the source answers for any month. */
export const MOST_EMPTY = 12;
/** Twenty years, for sources that have something in every month. */
export const MOST_MONTHS = 240;

/** Stored rows that a report sums up, and when the last of them changed (epoch ms). They lie in these months (`YYYY-MM`); null is an open end. */
export interface SummedRows {
  readonly from: string | null;
  readonly to: string | null;
  readonly rows: number;
  readonly changedAt: number;
}

/** What the warehouse knows of the months of a report. */
export interface MonthFacts {
  /** As of when (epoch ms). */
  readonly at: number;
  /** Keys of the stored months. */
  readonly keys: ReadonlySet<string>;
  /** When each month was last asked for, and how many rows it summed up by then. */
  readonly asked: ReadonlyMap<string, Pick<Entry, 'readAt' | 'rows'>>;
  readonly summed: readonly SummedRows[];
  /** The past months need no reading unless their rows have changed. */
  readonly hold: boolean;
}

/**
 * The past months of a report that have to be asked for again, newest first: those whose rows have changed, come or gone, and those
 * without a row that are newer than one of them. What lies further back than a reading of all months would go is left out.
 */
export function monthsToRead(today: Day, facts: MonthFacts, isStored: (month: string) => boolean): string[] {
  if (!facts.hold) return [];
  const months: string[] = [];
  let unstored: string[] = [];
  for (let back = 0, empty = 0; back < MOST_MONTHS && empty < MOST_EMPTY; back++) {
    const month = monthBefore(today, back);
    empty = isStored(month) ? 0 : empty + 1;
    if (hasChanged(month, facts, isStored(month))) {
      months.push(...unstored, month);
      unstored = [];
    } else if (!isStored(month)) unstored.push(month);
  }
  return months;
}

function hasChanged(month: string, facts: MonthFacts, isStored: boolean): boolean {
  const asked = facts.asked.get(month);
  const { rows, changedAt } = rowsOf(month, facts);
  if (!asked) return rows > 0 || isStored;
  return rows !== asked.rows || changedAt >= (asked.readAt ?? 0);
}

/** What is known of a month that is asked for after the facts were gathered. */
export const askedEntry = (month: string, facts: MonthFacts): Entry => ({
  slice: { by: 'total', month },
  provenAt: null,
  readAt: facts.at,
  requests: 1,
  rows: rowsOf(month, facts).rows,
  changed: 0,
  hoursWatched: 0,
  dueSince: null,
  dueReason: null,
});

function rowsOf(month: string, { summed }: MonthFacts): { rows: number; changedAt: number } {
  const within = summed.filter(({ from, to }) => (from === null || from <= month) && (to === null || month <= to));
  return {
    rows: within.reduce((sum, { rows }) => sum + rows, 0),
    changedAt: Math.max(Number.NEGATIVE_INFINITY, ...within.map(({ changedAt }) => changedAt)),
  };
}
