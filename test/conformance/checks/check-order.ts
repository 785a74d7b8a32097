import { agree, type Candidates, type Finding, UNKNOWN } from '../findings/finding.ts';
import { LISTS, pathOf } from '../lists/documented-lists.ts';
import type { Lists, Seen } from '../lists/read-lists.ts';
import type { Asker } from '../requests/requester.ts';
import type { Row } from '../requests/send-request.ts';

/** Fewer rows are in order by chance too often. */
const ENOUGH = 8;
const LOOSE = 'date-desc-loose';
/** Few equal dates may well come in the same order again. */
const REPEATS = 2;

/** `order`, from the first page of each list. What an order is by is not always shown, so the lists decide together. */
export async function probeOrder(asker: Asker, lists: Lists): Promise<Finding[]> {
  const all = lists.offered.filter(({ rows }) => rows.length >= ENOUGH).map(candidatesOf);
  const preference = ['id-desc', 'id-asc', 'date-desc', 'date-desc-loose', 'updated-desc', 'updated-asc', 'shuffled'];
  const found = agree('order', all, preference);
  if (!found.some(({ seen }) => seen === LOOSE)) return found;
  const [seen] = lists.offered.filter(each => tiesIn(each) > 0).sort((a, b) => tiesIn(b) - tiesIn(a));
  if (!seen) return found;
  for (let time = 1; time <= REPEATS; time++) {
    const again = await asker.ask(pathOf(seen.name), { query: { page: 1, limit: seen.limit } });
    if (JSON.stringify(again.rows) !== JSON.stringify(seen.rows)) return found;
  }
  const evidence = `${seen.name}: newest date first, and ${tiesIn(seen)} equal dates in an order of their own that stays`;
  return found.map(each => (each.seen === LOOSE ? { ...each, seen: UNKNOWN, evidence } : each));
}

/** Rows with the date of the row before them. */
function tiesIn({ name, rows }: Pick<Seen, 'name' | 'rows'>): number {
  const dates = datesOf(name, rows) ?? [];
  return dates.filter((date, index) => index > 0 && date === dates[index - 1]).length;
}

function candidatesOf({ name, rows }: Seen): Candidates {
  const ids = column(rows, row => integer(row.id));
  const stamps = column(rows, row => text(row.updated_at));
  const dates = datesOf(name, rows);
  const sorted: Record<string, boolean | null> = {
    'id-desc': ids && falls(ids, false),
    'id-asc': ids && falls([...ids].reverse(), false),
    'updated-desc': stamps && falls(stamps, true),
    'updated-asc': stamps && falls([...stamps].reverse(), true),
    'date-desc': dates && falls(dates, true) && (ids === null || tiesFall(dates, ids)),
    'date-desc-loose': dates && falls(dates, true) && (ids === null || !tiesFall(dates, ids)),
  };
  const proven = Object.keys(sorted).filter(order => sorted[order] === true);
  // Null: the rows do not show what such an order would be by.
  const open = Object.keys(sorted).filter(order => sorted[order] === null);
  // A few equal dates stand by id now and then.
  if (proven.includes('date-desc') && !proven.includes('id-desc') && tiesIn({ name, rows }) < ENOUGH) open.push(LOOSE);
  const values = proven.length > 0 ? [...proven, ...open] : ['shuffled', ...open];
  const shown = [ids && 'id', dates && 'date', stamps && 'updated_at'].filter(Boolean).join(', ');
  const evidence =
    proven.length > 0
      ? `${rows.length} rows are in this order`
      : `${rows.length} rows follow no order by ${shown || 'anything they show'}`;
  return { list: name, values, evidence };
}

/** The dates a list could be ordered by; rows without one stand last. */
function datesOf(name: Seen['name'], rows: readonly Row[]): string[] | null {
  const field = 'dated' in LISTS[name] ? 'date' : name === 'customers' ? 'created_at' : null;
  if (field === null || !rows.some(row => /^[1-9]/.test(text(row[field]) ?? ''))) return null;
  return rows.map(row => (/^[1-9]/.test(text(row[field]) ?? '') ? String(row[field]).slice(0, 10) : ''));
}

function column<T>(rows: readonly Row[], of: (row: Row) => T | null): T[] | null {
  const values = rows.map(of);
  return values.every(value => value !== null) ? (values as T[]) : null;
}

function falls<T extends number | string>(values: readonly T[], ties: boolean): boolean {
  return values.every(
    (value, index) => index === 0 || value < (values[index - 1] as T) || (ties && value === values[index - 1]),
  );
}

function tiesFall(dates: readonly string[], ids: readonly number[]): boolean {
  return dates.every(
    (date, index) => index === 0 || date !== dates[index - 1] || (ids[index] as number) < (ids[index - 1] as number),
  );
}

const integer = (value: unknown): number | null =>
  typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value)) ? Number(value) : null;
const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
