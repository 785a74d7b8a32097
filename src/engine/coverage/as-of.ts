import type { Entry } from '../slices/coverage-entry.ts';
import { holds } from '../slices/date-windows.ts';
import { holdsId } from '../slices/id-ranges.ts';
import type { Slice } from '../slices/slice.ts';
import { type List, oldestOf, partition, unfilteredSince } from './list.ts';
import { partsIn } from './prove.ts';

/**
 * As of when readings showed all rows of these parts as they are stored (epoch ms); null where that is in doubt: a part is due again, or the
 * list is cut off.
 */
function shownAsOf({ profile }: List, parts: readonly Entry[]): number | null {
  const isCut = profile.oneAnswer === 'cut' || profile.end?.verdict === 'cut';
  return isCut || parts.some(({ dueSince }) => dueSince !== null) ? null : oldestOf(parts);
}

/** The same for the slice that a reading covers. */
export const sliceAsOf = (list: List, slice: Slice): number | null =>
  shownAsOf(list, slice.by === list.strategy.partition ? partsIn(list, slice) : partition(list));

/** The same for all rows of the list, and as of when it had no others. */
export function listAsOf(list: List): number | null {
  const shown = shownAsOf(list, partition(list));
  const unfiltered = unfilteredSince(list);
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
