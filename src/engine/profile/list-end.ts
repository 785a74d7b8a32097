import type { Reached } from '../../source/paging/stable-reading.ts';
import { isId } from '../slices/id-ranges.ts';
import type { ListOrder, Observation } from './observation.ts';

/**
 * Where a list was seen to end. The end of a list proves nothing by itself: a source may show at most so many rows and not say so. Such a
 * cap keeps the length and moves the end; a real end stays while the length changes.
 */
export interface ListEnd {
  /**
   * - `open`: nothing agrees yet that the list ends there.
   * - `agreed`: a count, or another length, agrees.
   * - `cut`: rows left at the end while as many came elsewhere: the source shows at most `rows` rows.
   */
  readonly verdict: 'open' | 'agreed' | 'cut';
  /** Rows of the last reading that reached the end, and of the longest. */
  readonly rows: number;
  readonly longest: number;
  /** A length at which the list may have been cut since; null for none but the longest. */
  readonly suspect: number | null;
  /** The key of the last row; of the reading before, where a single one was shorter. */
  readonly last: string;
  /** `EndContext.changedAt` of that row. */
  readonly changedAt?: number | undefined;
  /** How many readings in a row ended with that row. */
  readonly times: number;
  /** The rows that the source counts, where these were found to be more than it showed. */
  readonly counted?: number;
}

export interface EndContext {
  readonly order: ListOrder | null;
  /** Stored rows behind the end that the reading lacked. */
  readonly left: number;
  /** Stored rows that it was the first to lack, wherever. */
  readonly newlyLacked: number;
  /** It lacked at least half of the stored rows. */
  readonly half: boolean;
  /** Equal rows without an id cannot be told from a row that came twice. */
  readonly mayCountTwice: boolean;
  /** When the last row was last seen to change (epoch ms), in the order of changes: one that has changed since may be the last by chance. */
  readonly changedAt?: number | undefined;
}

/** So many rows at once may leave the end of a list that became shorter. More of them look like a cap that was lowered. */
export const MOST_LEFT = 4;
/** So many rows of one reading may come twice. */
export const MOST_TWICE = 5;

export const UNKNOWN_END = { verdict: 'open', rows: 0, longest: 0, suspect: null, times: 0 } as const;

/** What a reading says of the end of its list, and whether it is believed that the stored rows behind that end have left the list. */
export interface JudgedEnd {
  readonly end: ListEnd;
  readonly believed: boolean;
}

/** `before`: what the readings before said. */
export function judgeEnd(before: ListEnd | null, reached: Reached, context: EndContext): JudgedEnd {
  const { rows, last, counted } = reached;
  const { left, newlyLacked, half, order, mayCountTwice, changedAt } = context;
  if (rows === null) return { end: before ?? { ...UNKNOWN_END, last }, believed: false };
  const stayed = last === before?.last && changedAt === before.changedAt;
  const longest = Math.max(before?.longest ?? 0, rows);
  const times = stayed ? before.times + 1 : 1;
  const judged = (verdict: ListEnd['verdict'], suspect: number | null = null): JudgedEnd => ({
    end: { verdict, rows, longest, suspect, last, times, changedAt },
    believed: verdict === 'agreed',
  });
  if (before === null) return judged(counted ? 'agreed' : 'open');
  // A count that stays the same while rows leave the end is itself cut. Only in the order of ids do they certainly leave the end.
  if (counted && !isIdOrder(order)) return judged('agreed');
  if (counted) {
    const verdict = rows === before.rows ? verdictOfSameLength(before, { rows, stayed, left }) : null;
    return verdict === null ? judged('agreed') : judged(verdict, rows);
  }
  const isLonger = before.suspect !== null && rows > before.suspect;
  // A cap at the suspected length would have moved the end.
  if (isLonger && rows < before.longest && left > 0 && times > 2 && isNewestFirst(order)) return judged('agreed');
  const limit = before.suspect === null || isLonger ? before.longest : before.suspect;
  if (rows + (mayCountTwice ? MOST_TWICE : 0) < limit) {
    // So many, or others again at the same length: the cap may have been lowered.
    const isKnown = before.verdict === 'agreed' && newlyLacked === 0;
    if (
      (left > MOST_LEFT && !isKnown && !(stayed && !isIdOrder(order))) ||
      (left > 0 && newlyLacked > 0 && rows === before.rows)
    )
      return judged('open', rows);
    // What a short answer lacks is missing. It may be a faulty one, unless it shows all that is known.
    if ((newlyLacked === 0 && !half) || before.verdict === 'agreed') return judged('agreed', before.suspect);
    const { end } = judged('open', before.suspect);
    return {
      end: { ...end, last: before.last, times: before.times, changedAt: before.changedAt },
      believed: true,
    };
  }
  // Rows came and the end stayed. A single reading may have been a faulty one.
  if (rows > limit) return judged(times > 2 && isNewestFirst(order) ? 'agreed' : 'open');
  // As long as the longest.
  if (rows > before.rows) return judged('open', before.suspect);
  // In a list of the newest rows, older ones appear behind the end where as many left before it.
  const moved = order === 'id-desc' && !stayed ? Math.max(left, 1) : left;
  const verdict = verdictOfSameLength(before, { rows, stayed, left: moved });
  if (verdict !== null) return judged(verdict, rows);
  return judged(!stayed && order === 'id-asc' ? 'open' : before.verdict, before.suspect);
}

/** What follows if rows left the end and the length is what it was; null for nothing. A single row may have been deleted as another came. */
function verdictOfSameLength(
  { verdict, suspect }: ListEnd,
  { rows, stayed, left }: { rows: number; stayed: boolean; left: number },
): 'cut' | 'open' | null {
  if (stayed) return verdict === 'cut' ? 'cut' : suspect === rows && left > 0 ? 'open' : null;
  if (left === 0) return null;
  return left > 1 || suspect === rows ? 'cut' : 'open';
}

export const isIdOrder = (order: ListOrder | null): boolean => order === 'id-desc' || order === 'id-asc';

/** New rows come at the start of the list. */
export const isNewestFirst = (order: ListOrder | null): boolean => order === 'id-desc' || order === 'updated-desc';

/** So many rows of a reading without a count are believed: one as long as the longest by the same filter may have been cut off. */
export const mostBelieved = (longest = 0): number => Math.max(longest - 1, 0);

/** What a reading by this filter says of the rows that such a reading may have; without a count only. */
export function observeLongest(longest: ReadonlyMap<string, number>, field: string, rows: number): Observation[] {
  if (rows <= (longest.get(field) ?? 0)) return [];
  return [
    { trait: `longest ${field}`, value: `${rows}` as const, evidence: `a reading by ${field} showed ${rows} rows` },
  ];
}

/** Of the rows that a reading lacked, those that may lie behind its end. */
export function behindEnd(lacked: readonly string[], { last }: Reached, order: ListOrder | null): string[] {
  if (isIdOrder(order) && isId(last))
    return lacked.filter(
      key => isId(key) && (order === 'id-desc' ? BigInt(key) < BigInt(last) : BigInt(key) > BigInt(last)),
    );
  // In another order any of them may have been pushed behind the end, or moved there.
  return [...lacked];
}
