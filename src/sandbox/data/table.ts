import { dayOf, NO_DAY } from './calendar.ts';

/** What a list is filtered and ordered by; everything else of a row is made when it is asked for. */
export interface Columns {
  readonly ids: Int32Array;
  readonly days: Int32Array;
  /** Index into the table's states. */
  readonly states: Uint8Array;
  readonly owners: Int32Array;
  /** Seconds since the epoch of the last change. */
  readonly changed: Uint32Array;
}

/** The same values of one row, as `keysOf` reads them from it. */
interface Keys {
  date?: string | null;
  state?: string;
  owner?: number | null;
}

export interface Filter {
  state?: string;
  owner?: number;
  fromDay?: number;
  /** Included. */
  toDay?: number;
  /** Lower-case text that `searchText` of a row must contain. */
  search?: string;
}

export interface Table<Row extends { id: number }> {
  /** Rows that exist now. */
  readonly size: number;
  /** Grows with every change, so that whatever was derived from the table can be dropped. */
  readonly version: number;
  /** The positions that changes since that version touched, with repetitions. */
  touchedSince(version: number): readonly number[];
  /** All positions ever used, deleted rows included. */
  readonly length: number;
  readonly columns: Columns;
  /** The id the next new row will get. */
  readonly nextId: number;
  has(id: number): boolean;
  get(id: number): Row | undefined;
  at(position: number): Row;
  isLive(position: number): boolean;
  /** Positions of the rows that match, by ascending id. */
  select(filter: Filter): Int32Array;
  insert(row: Omit<Row, 'id'>, seconds: number): Row;
  update(id: number, patch: Partial<Row>, seconds: number): Row | undefined;
  remove(id: number): boolean;
  /** Brings a removed row back as it was. */
  restore(id: number): boolean;
  rows(): Iterable<Row>;
}

export interface TableSource<Row extends { id: number }> {
  states: readonly string[];
  keysOf(row: Row): Keys;
  searchText?(row: Row): string;
  /** The rows it starts with: their columns, and the row itself from its position. */
  columns?: Columns;
  generate?(position: number): Row;
}

const NO_OWNER = -1;

/**
 * A list in memory: typed columns for all rows, and whole rows only for those that changed since the start; the others are
 * made anew from the seed each time. Filters scan the columns: 1M rows take 1-2 ms, so there is no index to keep up to date.
 */
export function createTable<Row extends { id: number }>(source: TableSource<Row>): Table<Row> {
  const start = source.columns;
  const states = [...source.states];
  const kept = new Map<number, Row>();
  let length = start?.ids.length ?? 0;
  let columns = start ?? newColumns(16);
  let live = new Uint8Array(Math.max(length, 16)).fill(1, 0, length);
  let size = length;
  // The position of every change: its length is the version.
  const touched: number[] = [];

  const at = (position: number): Row => {
    const row = kept.get(position) ?? source.generate?.(position);
    if (row === undefined) throw new RangeError(`no row at position ${position}`);
    return row;
  };

  const nextId = () => (length === 0 ? 1 : (columns.ids[length - 1] as number) + 1);

  const positionOf = (id: number): number => {
    let low = 0;
    let high = length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const found = columns.ids[middle] as number;
      if (found === id) return middle;
      if (found < id) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  };

  const livePosition = (id: number): number => {
    const position = positionOf(id);
    return position >= 0 && live[position] === 1 ? position : -1;
  };

  const stateIndex = (state: string): number => {
    const index = states.indexOf(state);
    return index >= 0 ? index : states.push(state) - 1;
  };

  const keep = (position: number, row: Row, seconds: number) => {
    const keys = source.keysOf(row);
    kept.set(position, row);
    columns.ids[position] = row.id;
    columns.days[position] = keys.date === undefined ? NO_DAY : dayOf(keys.date);
    columns.states[position] = stateIndex(keys.state ?? '');
    columns.owners[position] = keys.owner ?? NO_OWNER;
    columns.changed[position] = seconds;
    touched.push(position);
  };

  const grow = () => {
    const capacity = length + Math.max(16, length >> 3);
    columns = {
      ids: enlarge(columns.ids, new Int32Array(capacity)),
      days: enlarge(columns.days, new Int32Array(capacity)),
      states: enlarge(columns.states, new Uint8Array(capacity)),
      owners: enlarge(columns.owners, new Int32Array(capacity)),
      changed: enlarge(columns.changed, new Uint32Array(capacity)),
    };
    live = enlarge(live, new Uint8Array(capacity));
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
    has: id => livePosition(id) >= 0,
    get(id) {
      const position = livePosition(id);
      return position < 0 ? undefined : at(position);
    },
    at,
    isLive: position => live[position] === 1,
    select(filter) {
      const { days, states: stateOf, owners } = columns;
      const state = filter.state === undefined ? undefined : states.indexOf(filter.state);
      const { owner, fromDay, toDay, search } = filter;
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
        if (state !== undefined && stateOf[position] !== state) continue;
        if (owner !== undefined && owners[position] !== owner) continue;
        if (search !== undefined && !source.searchText?.(at(position)).toLowerCase().includes(search)) continue;
        found[count] = position;
        count += 1;
      }
      // A copy, not a view: a view on a small answer would keep the memory of the whole list.
      return count === size ? found : found.slice(0, count);
    },
    insert(row, seconds) {
      if (length === columns.ids.length) grow();
      const id = nextId();
      // The id first, as in the rows made from the seed.
      const whole = Object.assign({ id }, row, { id }) as Row;
      live[length] = 1;
      size += 1;
      length += 1;
      keep(length - 1, whole, seconds);
      return whole;
    },
    update(id, patch, seconds) {
      const position = livePosition(id);
      if (position < 0) return undefined;
      const row = { ...at(position), ...patch, id };
      keep(position, row, seconds);
      return row;
    },
    remove: id => setLive(positionOf(id), 0),
    restore: id => setLive(positionOf(id), 1),
    *rows() {
      for (let position = 0; position < length; position += 1) if (live[position] === 1) yield at(position);
    },
  };
}

export function newColumns(length: number): Columns {
  return {
    ids: new Int32Array(length),
    days: new Int32Array(length),
    states: new Uint8Array(length),
    owners: new Int32Array(length),
    changed: new Uint32Array(length),
  };
}

function enlarge<T extends Int32Array | Uint32Array | Uint8Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
