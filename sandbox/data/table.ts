import { dayOf, NO_DAY } from './calendar.ts';
import { type Columns, copyInto, growColumns, newColumns, scanColumns } from './columns.ts';

/** The column values of one row, as `keysOf` reads them. */
interface Keys {
  date?: string | null;
  state?: string;
  owner?: number | null;
}

export interface Filter {
  state?: string;
  owner?: number;
  /** Days since 1970-01-01. */
  fromDay?: number;
  /** Included. */
  toDay?: number;
  /** Of the last day, only rows without a time of day. */
  toMidnight?: boolean;
  withoutDrafts?: boolean;
  /** Lower-case text that `searchText` of a row must contain. */
  search?: string;
}

/** One in three was entered without a time of day. */
const hasNoTime = (id: number): boolean => id % 3 === 0;

export const isDraft = (id: number): boolean => id % 11 === 0;

/** A list in memory. A *position* is the index of a row in order of insertion; deleted rows keep theirs. */
export interface Table<Row extends { id: number }> {
  /** Number of live rows. */
  readonly size: number;
  /** Grows with every change; anything derived from the table is stale once it differs. */
  readonly version: number;
  /** The positions changed since that version, possibly repeated. */
  touchedSince(version: number): readonly number[];
  /** Number of positions, deleted rows included. */
  readonly length: number;
  readonly columns: Columns;
  /** The id of the next new row; with `reissuedIds` it may be that of a removed one. */
  readonly nextId: number;
  /** Whether ids of deleted rows are issued again. */
  readonly reissuesIds: boolean;
  has(id: number): boolean;
  get(id: number): Row | undefined;
  /** A row that was removed. */
  removed(id: number): Row | undefined;
  at(position: number): Row;
  isLive(position: number): boolean;
  /** Positions of the matching live rows, by ascending id. */
  select(filter: Filter): Int32Array;
  /** Time of the last change of a row, removed ones included, in seconds since the epoch. */
  changedAt(id: number): number;
  insert(row: Omit<Row, 'id'>, seconds: number): Row;
  update(id: number, patch: Partial<Row>, seconds: number): Row | undefined;
  remove(id: number): boolean;
  /** Brings a removed row back unchanged. */
  restore(id: number): boolean;
  rows(): Iterable<Row>;
}

export interface TableSource<Row extends { id: number }> {
  states: readonly string[];
  keysOf(row: Row): Keys;
  searchText?(row: Row): string;
  /** Columns of the initial rows, and a generator of the row at a position. */
  columns?: Columns;
  generate?(position: number): Row;
  /** A new row takes the place and the id of a deleted one, if only deleted ones follow. */
  reissuedIds?: boolean;
}

const NO_OWNER = -1;

/**
 * Typed columns for all rows, whole rows only for those changed since the start; the others are regenerated from the seed on
 * every read. Filters scan the columns: a million rows take 1 to 2 ms, so there is no index.
 *
 * Longer than a screen because its short methods share one closure; the scan itself is in columns.ts.
 */
export function createTable<Row extends { id: number }>(source: TableSource<Row>): Table<Row> {
  const states = [...source.states];
  const changedRows = new Map<number, Row>();
  let columns = source.columns ?? newColumns(16);
  let length = source.columns?.ids.length ?? 0;
  let live = new Uint8Array(Math.max(length, 16)).fill(1, 0, length);
  let size = length;
  // The position of every change, in order; its length is the version.
  const touched: number[] = [];

  const at = (position: number): Row => {
    const row = changedRows.get(position) ?? source.generate?.(position);
    if (row === undefined) throw new RangeError(`no row at position ${position}`);
    return row;
  };
  const nextPosition = () => {
    let position = length;
    while (source.reissuedIds && position > 0 && live[position - 1] === 0) position -= 1;
    return position;
  };
  const nextId = () => {
    const position = nextPosition();
    if (position < length) return columns.ids[position] as number;
    return length === 0 ? 1 : (columns.ids[length - 1] as number) + 1;
  };
  const positionOf = (id: number) => findAscending(columns.ids, length, id);
  const livePosition = (id: number): number => {
    const position = positionOf(id);
    return position >= 0 && live[position] === 1 ? position : -1;
  };
  const stateIndex = (state: string): number => {
    const index = states.indexOf(state);
    return index >= 0 ? index : states.push(state) - 1;
  };
  const put = (position: number, row: Row, seconds: number) => {
    const keys = source.keysOf(row);
    changedRows.set(position, row);
    columns.ids[position] = row.id;
    columns.days[position] = keys.date === undefined ? NO_DAY : dayOf(keys.date);
    columns.states[position] = stateIndex(keys.state ?? '');
    columns.owners[position] = keys.owner ?? NO_OWNER;
    columns.changed[position] = seconds;
    touched.push(position);
  };
  const grow = () => {
    const capacity = length + Math.max(16, length >> 3);
    columns = growColumns(columns, capacity);
    live = copyInto(new Uint8Array(capacity), live);
  };
  const setLive = (position: number, value: 0 | 1): boolean => {
    if (position < 0 || live[position] === value) return false;
    live[position] = value;
    size += value === 1 ? 1 : -1;
    touched.push(position);
    return true;
  };

  return {
    get size() {
      return size;
    },
    get version() {
      return touched.length;
    },
    touchedSince: version => touched.slice(version),
    get length() {
      return length;
    },
    get columns() {
      return columns;
    },
    get nextId() {
      return nextId();
    },
    reissuesIds: source.reissuedIds === true,
    has: id => livePosition(id) >= 0,
    get(id) {
      const position = livePosition(id);
      return position < 0 ? undefined : at(position);
    },
    removed(id) {
      const position = positionOf(id);
      return position < 0 || live[position] === 1 ? undefined : at(position);
    },
    at,
    isLive: position => live[position] === 1,
    select({ search, state, toMidnight = false, withoutDrafts = false, ...filter }) {
      const isFound = (position: number) =>
        search === undefined || (source.searchText?.(at(position)).toLowerCase().includes(search) ?? false);
      const isMidnight = (position: number) =>
        !toMidnight ||
        (columns.days[position] as number) < (filter.toDay ?? 0) ||
        hasNoTime(columns.ids[position] as number);
      const isShown = (position: number) => !(withoutDrafts && isDraft(columns.ids[position] as number));
      const matches =
        search === undefined && !toMidnight && !withoutDrafts
          ? undefined
          : (position: number) => isShown(position) && isMidnight(position) && isFound(position);
      const stateAt = state === undefined ? undefined : states.indexOf(state);
      return scanColumns(columns, { live, length, size }, { ...filter, state: stateAt }, matches);
    },
    changedAt: id => columns.changed[positionOf(id)] ?? 0,
    insert(row, seconds) {
      if (length === columns.ids.length) grow();
      const id = nextId();
      const position = nextPosition();
      // The id comes first, as in generated rows.
      const whole = Object.assign({ id }, row, { id }) as Row;
      live[position] = 1;
      size += 1;
      length = Math.max(length, position + 1);
      put(position, whole, seconds);
      return whole;
    },
    update(id, patch, seconds) {
      const position = livePosition(id);
      if (position < 0) return undefined;
      const row = { ...at(position), ...patch, id };
      put(position, row, seconds);
      return row;
    },
    remove: id => setLive(positionOf(id), 0),
    restore: id => setLive(positionOf(id), 1),
    *rows() {
      for (let position = 0; position < length; position += 1) if (live[position] === 1) yield at(position);
    },
  };
}

/** Binary search among the first `length` values; -1 if absent. */
function findAscending(values: Int32Array, length: number, wanted: number): number {
  let low = 0;
  let high = length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = values[middle] as number;
    if (found === wanted) return middle;
    if (found < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
