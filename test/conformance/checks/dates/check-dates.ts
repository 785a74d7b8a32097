import { DAY } from '../../../../src/clock.ts';
import { addDays } from '../../../../src/engine/slices/date-windows.ts';
import { type Candidates, combineLists, type Finding, undetermined } from '../../findings/finding.ts';
import { type ListName, SUSPICIOUS_COUNTS, shapeOf } from '../../lists/documented-lists.ts';
import { type ListReading, type ListReadings, requestRows } from '../../lists/read-lists.ts';
import type { Requester } from '../../requests/requester.ts';
import type { Answer, Row } from '../../requests/send-request.ts';

/** The effect of `date_from` and `date_to` on each dated list, and whether both ends are included. */
export async function checkDates(requester: Requester, lists: ListReadings): Promise<Finding[]> {
  const filter: Candidates[] = [];
  const ends: Candidates[] = [];
  for (const reading of lists.offered.filter(({ name }) => shapeOf(name).dated)) {
    const window = windowIn(reading);
    if (window) {
      const found = await checkWindow(requester, reading, window);
      filter.push(found.filter);
      if (found.end) ends.push(found.end);
    } else if (reading.rows.length > 0 && !reading.rows.some(row => row.date !== undefined))
      filter.push(...(await checkDisjointWindows(requester, reading)));
  }
  const noWindow = 'no list has rows on enough different days';
  return [
    ...(filter.length > 0 ? combineLists('date-filter', filter) : [undetermined('date-filter', noWindow)]),
    ...(ends.length > 0 ? combineLists('date-to', ends) : [undetermined('date-to', noWindow)]),
  ];
}

interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** A filter may be limited to fewer days than this; see `date-span`. */
const MOST_DAYS = 60;

/** Days in the middle third of those with rows: both ends of the window and both sides of it have rows. */
function windowIn({ rows }: ListReading): DayRange | null {
  const days = [...new Set(rows.map(row => dayOf(row)).filter(day => day !== null))].sort();
  if (days.length < 4) return null;
  const from = days[Math.floor(days.length / 3)];
  const middle = days.slice(0, Math.floor((2 * days.length) / 3) + 1);
  const to = middle.findLast(day => from !== undefined && day <= addDays(from, MOST_DAYS));
  return from !== undefined && to !== undefined && from < to ? { from, to } : null;
}

export function dayOf(row: Row): string | null {
  const text = typeof row.date === 'string' ? row.date.slice(0, 10) : '';
  return /^[1-9]\d{3}-\d\d-\d\d$/.test(text) ? text : null;
}

async function checkWindow(
  requester: Requester,
  { name, limit }: ListReading,
  { from, to }: DayRange,
): Promise<{ filter: Candidates; end?: Candidates }> {
  const read = (query: Record<string, string>) => requestRows(requester, name, { ...query, page: 1, limit });
  const both = await read({ date_from: from, date_to: to });
  const range = `${from} to ${to}`;
  const { outside, days } = compareWithRange(both, { from, to });
  const result = (values: string[], evidence: string, handled?: Finding['handled']): { filter: Candidates } => ({
    filter: { list: name, values, evidence, ...(handled && { handled }) },
  });
  if (both.verdict.kind !== 'success')
    return result(
      [],
      `${range} is answered with HTTP ${both.status}`,
      'not: reading fails when a short date window is rejected',
    );
  if (outside > 0) return result(['ignored'], `requested ${range}, got ${outside} rows outside`);
  if (days.length === 0) return result([], `requested ${range}, got no rows`, UNREACHED);
  const end: Candidates = endOf(name, days, { from, to }, isComplete(both));
  const single = await read({ date_from: from });
  const before = compareWithRange(single, { from, to: '9999-12-31' }).outside;
  const evidence = `requested ${range}, got ${both.rows?.length} rows, all inside`;
  if (before > 0) return { ...result(['pair-only'], `date_from alone returns ${before} earlier rows`), end };
  return { ...result(['honoured'], evidence), end };
}

const UNREACHED = 'not: no window returns rows with a date';

/** Both ends are known to have rows; a partial page may lack them. */
function endOf(list: ListName, days: readonly string[], { from, to }: DayRange, whole: boolean): Candidates {
  const [first, last] = [days.includes(from), days.includes(to)];
  if (last && (first || !whole))
    return { list, values: ['inclusive'], evidence: `date_to=${to} returns rows of ${to}` };
  if (!whole)
    return { list, values: ['inclusive', 'exclusive'], evidence: 'the window has more than one page of rows' };
  if (first) return { list, values: ['exclusive'], evidence: `date_to=${to} does not return the rows of ${to}` };
  return {
    list,
    values: [],
    evidence: `date_from=${from} does not return the rows of ${from}`,
    handled: 'yes',
  };
}

/** Whether a page appears to hold all requested rows. */
export function isComplete({ count, meta }: Pick<Answer, 'count' | 'meta'>): boolean {
  if (meta?.totalRecords !== undefined) return count >= meta.totalRecords;
  return !SUSPICIOUS_COUNTS.includes(count);
}

function compareWithRange({ rows = [] }: Answer, { from, to }: DayRange): { outside: number; days: string[] } {
  const days = rows.map(dayOf).filter(day => day !== null);
  return { outside: days.filter(day => day < from || day > to).length, days };
}

/** For rows without dates: disjoint windows must return different rows. */
async function checkDisjointWindows(requester: Requester, reading: ListReading): Promise<Candidates[]> {
  const { name, limit } = reading;
  const day = (before: number) => new Date(requester.now() - before * DAY).toISOString().slice(0, 10);
  const windows = [
    { date_from: day(400), date_to: day(201) },
    { date_from: day(200), date_to: day(0) },
  ];
  const [older, newer] = [
    await requestRows(requester, name, { ...windows[0], page: 1, limit }),
    await requestRows(requester, name, { ...windows[1], page: 1, limit }),
  ];
  const texts = new Set(older.rows?.map(row => JSON.stringify(row)));
  const same = newer.rows?.filter(row => texts.has(JSON.stringify(row))).length ?? 0;
  const both = Math.min(older.rows?.length ?? 0, newer.rows?.length ?? 0);
  if (both === 0) return [];
  if (same > 0) {
    const evidence = `two disjoint windows return the same ${same} rows`;
    return [{ list: name, values: ['ignored'], evidence }];
  }
  const alone = await requestRows(requester, name, { date_from: day(200), page: 1, limit });
  const isNarrower = (alone.meta?.totalRecords ?? 0) > (newer.meta?.totalRecords ?? Number.POSITIVE_INFINITY);
  const wider = alone.meta?.totalRecords === reading.total && isNarrower;
  const evidence = 'two disjoint windows return different rows';
  if (wider) return [{ list: name, values: ['pair-only'], evidence: 'date_from alone returns the whole list' }];
  return [{ list: name, values: alone.meta ? ['honoured'] : ['honoured', 'pair-only'], evidence }];
}
