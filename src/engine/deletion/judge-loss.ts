import { isEmpty, type LossLimit, withinLossLimit } from './loss-limit.ts';

/** A row as an answer shows it. */
interface ShownRow {
  readonly values: Readonly<Record<string, string | null>>;
  /** By child field. */
  readonly children: Readonly<Record<string, readonly unknown[]>>;
}

/** What answers would empty of one field: a column, or the child rows of a child field. */
export interface Loss {
  readonly field: string;
  /** Rows that hold something there, and that the answers show empty. */
  readonly keys: readonly string[];
  /** Rows of the same answers that do show something there. */
  readonly shown: number;
  /** Rows of the same answers whose values are held already. Default 0. */
  readonly held?: number;
}

/** By field: what rows would lose; `losing`: the fields of each row, by key. */
export function lossesOf(rows: readonly ShownRow[], losing: ReadonlyMap<string, readonly string[]>): Loss[] {
  const keys = new Map<string, string[]>();
  for (const [key, fields] of losing) for (const field of fields) keys.set(field, [...(keys.get(field) ?? []), key]);
  return [...keys].map(([field, lost]) => ({
    field,
    keys: lost,
    shown: rows.filter(row => holdsField(row, field)).length,
  }));
}

/** Whether the row shows something there. */
export const holdsField = ({ values, children }: ShownRow, field: string): boolean =>
  (children[field]?.length ?? 0) > 0 || (values[field] !== undefined && !isEmpty(values[field]));

/** What few rows lose may well have been emptied by people. */
const LEAST_COLLAPSE = 5;

/**
 * Answers that empty a field in a third of the rows that have it are more often those of a renamed field, or of a permission that was taken
 * away, than what people did.
 */
export function collapses({ keys, shown, held = 0 }: Pick<Loss, 'keys' | 'shown' | 'held'>): boolean {
  const emptied = keys.length + held;
  return emptied >= LEAST_COLLAPSE && 2 * emptied >= shown;
}

/** Whether `count` more values are more than may be lost, beside those that are held. */
export const isBeyondLimit = (count: number, limit: LossLimit): boolean =>
  !withinLossLimit(limit, { count: limit.held + count, accepted: 0, collapses: false });
