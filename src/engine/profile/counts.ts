import type { Meta } from '../../source/paging/page-count.ts';
import type { Observation } from './observation.ts';
import { type AskedDays, daysText, isHalfOpen } from './observe-filter.ts';
import type { SourceProfile } from './source-profile.ts';

/** The source's own count of a list, as far as it is believed. Pages that count no rows end no list. */
export function believedMeta(
  { counts }: SourceProfile,
  meta: Meta | undefined,
  { isFiltered }: { isFiltered: boolean },
): Meta | undefined {
  const isBelieved =
    meta?.totalRecords !== undefined && !isUnreliable(counts) && !(counts === 'unfiltered' && isFiltered);
  return isBelieved ? meta : undefined;
}

/** Whether the counts of the list are not believed, with or without a filter. */
export const isUnreliable = (counts: string | null): boolean =>
  counts === 'unreliable' || counts === 'unfiltered, unreliable';

/** The pages that a count promises which is not believed: too many, if rows were taken out of pages after these were cut. */
export const promisedPages = (
  { counts }: SourceProfile,
  meta: Meta | undefined,
  { isFiltered }: { isFiltered: boolean },
): number | undefined =>
  counts === 'unreliable' || (isUnreliable(counts) && !isFiltered) ? meta?.totalPages : undefined;

/** Rows that the source counted in a window of days. */
export interface CountedWindow {
  readonly asked: AskedDays;
  readonly total: number;
}

/** Fewer rows may have been added between two answers. */
const LEAST_ROWS = 20;

/**
 * Two windows without a common day cannot each hold nearly as many rows as a window around both: the source counts without the
 * filter. One window alone may have grown since the other was counted. A filter that was not applied was not counted by either: a source that
 * needs both dates counted the whole list where it got one.
 */
export function observeCounts(
  { counts, needsBothDates }: SourceProfile,
  known: readonly CountedWindow[],
  window: CountedWindow,
): Observation[] {
  if (counts === 'unfiltered' || isUnreliable(counts)) return [];
  const filtered = needsBothDates ? known.filter(({ asked }) => !isHalfOpen(asked)) : known;
  for (const outer of filtered) {
    if (outer.total < LEAST_ROWS || !contains(outer, window)) continue;
    const other = filtered.find(
      each =>
        each !== outer &&
        contains(outer, each) &&
        areApart(each, window) &&
        4 * Math.min(each.total, window.total) >= 3 * outer.total,
    );
    if (other === undefined) continue;
    const evidence = `${daysText(other.asked)} and ${daysText(window.asked)} are counted with ${other.total} and ${window.total} rows, ${daysText(outer.asked)} around both with ${outer.total}`;
    return [{ trait: 'counts', value: 'unfiltered', evidence }];
  }
  return [];
}

/** The list of a value has fewer rows than its count, which is that of the whole list. */
export function observeValueCount(
  { counts }: SourceProfile,
  slice: string,
  { counted, shown }: { counted: number; shown: number },
  total: number | null | undefined,
): Observation[] {
  if (counts === 'unfiltered' || isUnreliable(counts) || counted !== total || shown >= counted) return [];
  const evidence = `"${slice}" is counted with ${counted} rows, like the whole list, and has ${shown}`;
  return [{ trait: 'counts', value: 'unfiltered', evidence }];
}

const contains = (outer: CountedWindow, { asked }: CountedWindow): boolean =>
  (outer.asked.from === null || (asked.from !== null && outer.asked.from <= asked.from)) &&
  (outer.asked.to === null || (asked.to !== null && asked.to <= outer.asked.to));

const areApart = ({ asked: a }: CountedWindow, { asked: b }: CountedWindow): boolean =>
  (a.to !== null && b.from !== null && a.to < b.from) || (b.to !== null && a.from !== null && b.to < a.from);

/** The count that was in doubt agrees with the rows of its slice by now. */
export const countAgrees = (slice: string): Observation => ({
  trait: 'counts',
  value: 'agree',
  evidence: `the count of "${slice}" agreed with its rows again`,
});

/**
 * The count of a slice was off by the same number again and again, or that of a list in the order of ids by what no reading shows; or it did not fit
 * the same rows again and again (`by`: a digest), such as one that is estimated anew each time. The third task that finds this believes the rows; so
 * does the first where the count was found to ignore the filter.
 */
export function doubtCounts({ counts }: SourceProfile, slice: string, by: number | string): Observation | null {
  if (isUnreliable(counts)) return null;
  const value =
    counts === null
      ? (`doubted once: ${slice}` as const)
      : counts === 'doubted once'
        ? (`doubted twice: ${slice}` as const)
        : counts === 'unfiltered'
          ? 'unfiltered, unreliable'
          : 'unreliable';
  const what = typeof by === 'number' ? `was off by ${by}` : 'differed from its rows, which stayed the same,';
  return { trait: 'counts', value, evidence: `the count of "${slice}" ${what} again and again` };
}
