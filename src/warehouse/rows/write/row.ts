import type { ChildRow } from './child-rows.ts';

/** One parsed record, as text that Postgres casts. A column absent from `values` keeps its stored value. */
export interface Row {
  readonly key: string;
  readonly values: Readonly<Record<string, string | null>>;
  /** By child field; absent: the stored child rows stay. */
  readonly children: Readonly<Record<string, readonly ChildRow[]>>;
  /** Unknown fields as JSON text, null when there are none. */
  readonly extra: string | null;
  /** Hex digest of the record with its children; null where the table keeps none. */
  readonly hash: string | null;
  /** Grant time of the request that brought it. */
  readonly readAt: string;
  /** A row stored under its key stays unchanged: equal rows without an id can be told apart only where all of them are shown. */
  readonly onlyIfNew?: boolean;
}
