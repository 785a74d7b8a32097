import { type Candidates, combineLists, type Finding, UNKNOWN } from '../findings/finding.ts';
import { LISTS, pathOf } from '../lists/documented-lists.ts';
import type { ListReading, ListReadings } from '../lists/read-lists.ts';
import type { Requester } from '../requests/requester.ts';
import type { Row } from '../requests/send-request.ts';

/** Fewer rows may be in order by chance. */
const ENOUGH = 8;
const LOOSE = 'date-desc-loose';
/** A few equal dates may come in the same order by chance. */
const REPEATS = 2;

/** `order`, from the first page of each list. Not every list shows its sort field, so the lists are evaluated together. */
export async function checkOrder(requester: Requester, lists: ListReadings): Promise<Finding[]> {
  const all = lists.offered.filter(({ rows }) => rows.length >= ENOUGH).map(candidatesOf);
  const preference = ['id-desc', 'id-asc', 'date-desc', 'date-desc-loose', 'updated-desc', 'updated-asc', 'shuffled'];
  const found = combineLists('order', all, preference);
  if (!found.some(({ seen }) => seen === LOOSE)) return found;
  const [reading] = lists.offered.filter(each => countTies(each) > 0).sort((a, b) => countTies(b) - countTies(a));
  if (!reading) return found;
  for (let time = 1; time <= REPEATS; time++) {
    const again = await requester.request(pathOf(reading.name), { query: { page: 1, limit: reading.limit } });
    if (JSON.stringify(again.rows) !== JSON.stringify(reading.rows)) return found;
  }
  const evidence = `${reading.name}: newest date first, with ${countTies(reading)} ties in a constant order that is not by id`;
  return found.map(each => (each.seen === LOOSE ? { ...each, seen: UNKNOWN, evidence } : each));
}

/** The number of rows with the same date as the row before. */
function countTies({ name, rows }: Pick<ListReading, 'name' | 'rows'>): number {
  const dates = datesOf(name, rows) ?? [];
  return dates.filter((date, index) => index > 0 && date === dates[index - 1]).length;
}

function candidatesOf({ name, rows }: ListReading): Candidates {
  const ids = column(rows, row => integer(row.id));
  const stamps = column(rows, row => text(row.updated_at));
  const dates = datesOf(name, rows);
  const sorted: Record<string, boolean | null> = {
    'id-desc': ids && isDescending(ids, false),
    'id-asc': ids && isDescending([...ids].reverse(), false),
    'updated-desc': stamps && isDescending(stamps, true),
    'updated-asc': stamps && isDescending([...stamps].reverse(), true),
    'date-desc': dates && isDescending(dates, true) && (ids === null || tiesDescend(dates, ids)),
    'date-desc-loose': dates && isDescending(dates, true) && (ids === null || !tiesDescend(dates, ids)),
  };
  const proven = Object.keys(sorted).filter(order => sorted[order] === true);
  // Null: the rows lack the field of that order.
  const open = Object.keys(sorted).filter(order => sorted[order] === null);
  // A few ties may be ordered by id by chance.
  if (proven.includes('date-desc') && !proven.includes('id-desc') && countTies({ name, rows }) < ENOUGH)
    open.push(LOOSE);
  const values = proven.length > 0 ? [...proven, ...open] : ['shuffled', ...open];
  const shown = [ids && 'id', dates && 'date', stamps && 'updated_at'].filter(Boolean).join(', ');
  const evidence =
    proven.length > 0
      ? `${rows.length} rows are in this order`
      : `${rows.length} rows are not ordered by ${shown || 'any of their fields'}`;
  return { list: name, values, evidence };
}

/** The dates that may order a list, or null; rows without a date come last. */
function datesOf(name: ListReading['name'], rows: readonly Row[]): string[] | null {
  const field = 'dated' in LISTS[name] ? 'date' : name === 'customers' ? 'created_at' : null;
  if (field === null || !rows.some(row => /^[1-9]/.test(text(row[field]) ?? ''))) return null;
  return rows.map(row => (/^[1-9]/.test(text(row[field]) ?? '') ? String(row[field]).slice(0, 10) : ''));
}

function column<T>(rows: readonly Row[], of: (row: Row) => T | null): T[] | null {
  const values = rows.map(of);
  return values.every(value => value !== null) ? (values as T[]) : null;
}

function isDescending<T extends number | string>(values: readonly T[], ties: boolean): boolean {
  return values.every(
    (value, index) => index === 0 || value < (values[index - 1] as T) || (ties && value === values[index - 1]),
  );
}

function tiesDescend(dates: readonly string[], ids: readonly number[]): boolean {
  return dates.every(
    (date, index) => index === 0 || date !== dates[index - 1] || (ids[index] as number) < (ids[index - 1] as number),
  );
}

const integer = (value: unknown): number | null =>
  typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value)) ? Number(value) : null;
const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
