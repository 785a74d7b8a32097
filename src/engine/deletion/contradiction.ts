import { DAY } from '../../clock.ts';
import { type List, partition } from '../coverage/list.ts';
import { confirmsByWatched } from '../coverage/targeted.ts';
import type { Observation } from '../profile/observation.ts';
import { addressShows, hidesDeletion } from '../profile/observe-address.ts';
import { shownThoughLacked } from '../profile/shown-though-lacked.ts';
import { showsRelated } from '../profile/strategy.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { overlap, parseSlice, type Slice, sliceText } from '../slices/slice.ts';

/** A reading that is contradicted this often by one task is not doubted further: each row it lacked is then looked at by itself. */
const MOST_DOUBTS = 3;

/** A row that was missing until a reading showed it. */
export interface SeenAgain {
  readonly key: string;
  /** The slice that lacked it first, and when that reading had ended (epoch ms). */
  readonly slice: string;
  readonly since: number;
  /** Readings that lacked it. */
  readonly readings: number;
  /** It is new or different from what is stored. */
  readonly changed: boolean;
  /** When it was read now (epoch ms). */
  readonly at: number;
}

/** A reading that lacked a row which another shows unchanged: nothing that it lacked is missing, and its slices are due. */
export interface Contradiction {
  readonly row: SeenAgain;
  readonly due: readonly Entry[];
}

/** What confirms missing rows shows them, and no slice does: where it is related rows, once slices were found to leave out some for good. */
export const staysMissing = ({ profile, strategy }: List, slice: Slice): boolean =>
  slice.by === 'one' || (showsRelated(strategy, slice) && profile.leavesOut);

/**
 * The readings that these rows contradict. Windows and whole lists renew what they show; a page of ids may show a row elsewhere than
 * where it was lacking. `doubts`: how often a reading of the slice was contradicted before.
 */
export function contradictions(
  list: List,
  slice: Slice,
  seen: readonly SeenAgain[],
  doubts: (slice: string) => number,
): Contradiction[] {
  if (renews(list, slice) || list.strategy.membership === 'window') return [];
  // What the date filter leaves out contradicts no window, and what the list leaves out none of its parts.
  if (list.profile.leavesOut && slice.by !== 'one') return [];
  // One row is enough to contradict a reading.
  const readings = new Map(seen.filter(row => !row.changed).map(row => [`${row.slice} ${row.since}`, row]));
  return [...readings.values()].flatMap(row => {
    const lacking = parseSlice(row.slice);
    const doubted = partition(list).filter(
      entry => entry.slice.by === lacking.by && overlap(entry.slice, lacking) && (entry.provenAt ?? row.at) < row.at,
    );
    const isBelieved = doubts(row.slice) >= MOST_DOUBTS || (slice.by === 'one' && row.readings > 1);
    if (doubted.length === 0 || isBelieved) return [];
    const dueReason = `${sliceText(slice)} shows row ${row.key}, which it lacked`;
    return [{ row, due: doubted.map(entry => ({ ...entry, dueSince: row.at, dueReason })) }];
  });
}

/**
 * The address of a row showed it, although the list has lacked it for a day: such addresses show deleted rows, too. Before that (`address
 * shown`), the list may be rebuilding its index, and show the row later.
 */
export function shownByAddress(
  slice: Slice,
  seen: readonly SeenAgain[],
  doubts: (slice: string) => number,
): Observation | null {
  const [row] = slice.by === 'one' ? seen : [];
  if (row && row.readings > 1 && row.at - row.since >= DAY) return hidesDeletion(row.key, 'it for a day');
  const isLackedStill = row && (row.readings > 1 || doubts(row.slice) >= MOST_DOUBTS);
  return isLackedStill ? addressShows(row.key, row.since) : null;
}

/** Where rows do not show their date: a row that every window lacked and the list shows has no date. */
export function undatedRow(list: List, slice: Slice, seen: readonly SeenAgain[]): Observation | null {
  if (renews(list, slice) || list.strategy.membership !== 'window') return null;
  const undated = seen.find(row => isLackedByAll(list, row));
  if (!undated) return null;
  const evidence = `${sliceText(slice)} shows row ${undated.key}, which no window of all time does`;
  return { trait: 'undated', value: 'yes', evidence };
}

/**
 * Where they do: a row that its own window lacks again and again, and another question shows, is left out by the date filter; so is one by the
 * list that the filter by a watched value shows.
 */
export function leftOutRow(list: List, slice: Slice, seen: readonly SeenAgain[]): Observation | null {
  const { strategy, profile, lagMs = 0 } = list;
  if (strategy.membership === 'window' || profile.leavesOut || renews(list, slice) || slice.by === 'one') return null;
  if (strategy.partition !== 'date' && !(slice.by === 'value' && confirmsByWatched(list))) return null;
  const unchanged = seen.filter(row => !row.changed && parseSlice(row.slice).by === strategy.partition);
  const rows = unchanged.map(({ key, since, at }) => ({ key, lackedAt: since, at }));
  const shown = shownThoughLacked(profile.listShown, rows, lagMs);
  if (shown === null) return null;
  const evidence = `${sliceText(slice)} shows row ${shown.row.key}, which ${strategy.partition === 'date' ? 'its date window' : 'the list'} lacked`;
  if (shown.again) return { trait: 'left out', value: 'yes', evidence: `${evidence} again and again` };
  return { trait: 'list shown', value: shown.value, evidence };
}

/**
 * No window was read before the reading that lacked the row. The row may have moved between them meanwhile: to take it for one
 * without a date costs requests, and no row.
 */
function isLackedByAll(list: List, { slice, since }: SeenAgain): boolean {
  const lacking = parseSlice(slice);
  const parts = partition(list);
  const own = parts.filter(entry => overlap(entry.slice, lacking)).map(({ provenAt }) => provenAt ?? since);
  const start = Math.min(since, ...own);
  return parts.every(({ provenAt }) => provenAt !== null && provenAt >= start);
}

const renews = ({ strategy }: List, slice: Slice): boolean => slice.by === strategy.partition && slice.by !== 'id';
