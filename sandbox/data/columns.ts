import { NO_DAY } from './calendar.ts';

/** The values that lists filter and order by, one array element per row; the rest of a row is generated on demand. */
export interface Columns {
  readonly ids: Int32Array;
  /** Days since 1970-01-01, or NO_DAY. */
  readonly days: Int32Array;
  /** Indexes into the states of the table. */
  readonly states: Uint8Array;
  readonly owners: Int32Array;
  /** Time of the last change, in seconds since the epoch. */
  readonly changed: Uint32Array;
}

export function newColumns(capacity: number): Columns {
  return {
    ids: new Int32Array(capacity),
    days: new Int32Array(capacity),
    states: new Uint8Array(capacity),
    owners: new Int32Array(capacity),
    changed: new Uint32Array(capacity),
  };
}

export function growColumns(columns: Columns, capacity: number): Columns {
  return {
    ids: copyInto(new Int32Array(capacity), columns.ids),
    days: copyInto(new Int32Array(capacity), columns.days),
    states: copyInto(new Uint8Array(capacity), columns.states),
    owners: copyInto(new Int32Array(capacity), columns.owners),
    changed: copyInto(new Uint32Array(capacity), columns.changed),
  };
}

export function copyInto<T extends Int32Array | Uint32Array | Uint8Array>(target: T, source: T): T {
  target.set(source);
  return target;
}

/** A filter on columns; an omitted condition matches every row. */
export interface ColumnFilter {
  /** Index into the states of the table. */
  state?: number | undefined;
  owner?: number | undefined;
  fromDay?: number | undefined;
  /** Included. */
  toDay?: number | undefined;
}

/** Positions of the live rows that match, in ascending order. `size` is the number of live rows among the first `length`. */
export function scanColumns(
  { days, states, owners }: Columns,
  { live, length, size }: { live: Uint8Array; length: number; size: number },
  { state, owner, fromDay, toDay }: ColumnFilter,
  matches: ((position: number) => boolean) | undefined,
): Int32Array {
  const dated = fromDay !== undefined || toDay !== undefined;
  const from = fromDay ?? NO_DAY + 1;
  const to = toDay ?? 2147483647;
  const found = new Int32Array(size);
  let count = 0;
  for (let position = 0; position < length; position += 1) {
    if (live[position] === 0) continue;
    if (dated) {
      const day = days[position] as number;
      if (day < from || day > to) continue;
    }
    if (state !== undefined && states[position] !== state) continue;
    if (owner !== undefined && owners[position] !== owner) continue;
    if (matches !== undefined && !matches(position)) continue;
    found[count] = position;
    count += 1;
  }
  // A copy, not a view: a view of a few rows would keep the memory of the whole list.
  return count === size ? found : found.slice(0, count);
}
