import type { Entry } from '../slices/coverage-entry.ts';
import { holds } from '../slices/date-windows.ts';
import { holdsId } from '../slices/id-ranges.ts';
import { overlap, type Slice } from '../slices/slice.ts';
import { type List, oldestOf, partition, unfilteredSince } from './list.ts';

/**
 * As of when readings showed all rows of these parts as they are stored (epoch ms); null where that is in doubt: a part is due again, or the
 * end of the list is not trusted, so that rows behind it were not looked for.
 */
function shownAsOf({ profile }: List, parts: readonly Entry[]): number | null {
  const isTrusted = profile.oneAnswer !== 'cut' && (profile.end === null || profile.end.verdict === 'agreed');
  return !isTrusted || parts.some(({ dueSince }) => dueSince !== null) ? null : oldestOf(parts);
}

/** The same for all that a reading covers, in whole or in part. */
export const sliceAsOf = (list: List, slice: Slice): number | null =>
  shownAsOf(
    list,
    partition(list).filter(part => part.slice.by !== slice.by || overlap(part.slice, slice)),
  );

/** The same for all rows of the list, and as of when it had no others. */
export function listAsOf(list: List): number | null {
  const shown = shownAsOf(list, partition(list));
  const unfiltered = unfilteredSince(list);
  // It was never read without a filter.
  if (unfiltered === 0) return null;
  return shown === null || unfiltered === null ? shown : Math.min(shown, unfiltered);
}

/** The same for the slice that holds a row; null where it is not known which. `day`: its date, where windows are cut by that. */
export function rowAsOf(
  list: List,
  { key, day }: { readonly key: string; readonly day: string | null },
): number | null {
  const own = partition(list).filter(({ slice }) => {
    if (slice.by === 'id') return holdsId(slice, key);
    return slice.by === 'date' ? day !== null && holds(slice, day) : true;
  });
  return own.length === 0 ? null : shownAsOf(list, own);
}
