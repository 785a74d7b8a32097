import { hash } from 'node:crypto';
import { DAY } from '../../clock.ts';

/** When one question showed a row although another had lacked it (epoch ms). */
export interface ShownRow {
  readonly key: string;
  /** The reading that lacked it had ended then. */
  readonly lackedAt: number;
  readonly at: number;
}

/** The row that was shown last although it had been lacked, as a trait stores it: when, and a hash of its key. */
export type LastShown = `${string} ${string}`;

/**
 * The row among these that was shown last, or another if that was long ago. `again`: a reading has lacked it once more since it was shown then, so the
 * two questions differ about it for good. Null while the question may only repeat its answer.
 */
export function shownThoughLacked(
  last: string | null,
  rows: readonly ShownRow[],
  lagMs: number,
): { readonly row: ShownRow; readonly again: boolean; readonly value: LastShown } | null {
  const [when = '', mark] = last?.split(' ') ?? [];
  const shownAt = Date.parse(when);
  const known = rows.find(({ key }) => markOf(key) === mark);
  const row = known ?? rows[0];
  if (!row) return null;
  const value: LastShown = `${new Date(row.at).toISOString()} ${markOf(row.key)}`;
  if (known && row.lackedAt > shownAt && row.at - shownAt > lagMs) return { row, again: true, value };
  // Rows that take turns would replace each other. A later time predates a backward clock step.
  const isKept = row.at >= shownAt && (known !== undefined || row.at - shownAt < KEPT_MS);
  return isKept ? null : { row, again: false, value };
}

/** A row that is not shown again for so long makes room for another. */
const KEPT_MS = DAY;

const markOf = (key: string): string => hash('sha256', key).slice(0, 16);
