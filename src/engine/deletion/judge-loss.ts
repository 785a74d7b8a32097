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

const holdsField = ({ values, children }: ShownRow, field: string): boolean =>
  (children[field]?.length ?? 0) > 0 || (values[field] !== undefined && !isEmpty(values[field]));

/** What few rows lose may well have been emptied by people. */
const LEAST_COLLAPSE = 5;

/**
 * Whether the stored values stay. Answers that empty a field in a third of the rows that have it are more often those of a renamed field, or
 * of a permission that was taken away, than what people did.
 */
export const isHeld = ({ keys, shown }: Pick<Loss, 'keys' | 'shown'>, limit: LossLimit, accepted: boolean): boolean =>
  !withinLossLimit(limit, {
    count: keys.length,
    accepted: accepted ? Number.POSITIVE_INFINITY : 0,
    collapses: keys.length >= LEAST_COLLAPSE && 2 * keys.length >= shown,
  });
