import { DAY } from '../../../src/clock.ts';
import { agree, type Candidates, type Finding, untold } from '../findings/finding.ts';
import { type ListName, ROUND, shapeOf } from '../lists/documented-lists.ts';
import { askSome, type Lists, type Seen } from '../lists/read-lists.ts';
import type { Asker } from '../requests/requester.ts';
import type { Answer, Row } from '../requests/send-request.ts';

/** What `date_from` and `date_to` do on each dated list, whether both ends are included. */
export async function probeDates(asker: Asker, lists: Lists): Promise<Finding[]> {
  const filter: Candidates[] = [];
  const ends: Candidates[] = [];
  for (const seen of lists.offered.filter(({ name }) => shapeOf(name).dated)) {
    const window = windowIn(seen);
    if (window) {
      const found = await probeWindow(asker, seen, window);
      filter.push(found.filter);
      if (found.end) ends.push(found.end);
    } else if (seen.rows.length > 0 && !seen.rows.some(row => row.date !== undefined))
      filter.push(...(await probeHalves(asker, seen)));
  }
  const noWindow = 'no list has rows of enough days';
  return [
    ...(filter.length > 0 ? agree('date-filter', filter) : [untold('date-filter', noWindow)]),
    ...(ends.length > 0 ? agree('date-to', ends) : [untold('date-to', noWindow)]),
  ];
}

interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** The middle third of the days that were shown: rows of both its ends are known, and rows on both sides of it. */
function windowIn({ rows }: Seen): DayRange | null {
  const days = [...new Set(rows.map(row => dayOf(row)).filter(day => day !== null))].sort();
  if (days.length < 4) return null;
  const from = days[Math.floor(days.length / 3)];
  const to = days[Math.floor((2 * days.length) / 3)];
  return from !== undefined && to !== undefined && from < to ? { from, to } : null;
}

export function dayOf(row: Row): string | null {
  const text = typeof row.date === 'string' ? row.date.slice(0, 10) : '';
  return /^[1-9]\d{3}-\d\d-\d\d$/.test(text) ? text : null;
}

async function probeWindow(
  asker: Asker,
  { name, limit }: Seen,
  { from, to }: DayRange,
): Promise<{ filter: Candidates; end?: Candidates }> {
  const ask = (query: Record<string, string>) => askSome(asker, name, { ...query, page: 1, limit });
  const both = await ask({ date_from: from, date_to: to });
  const asked = `${from} to ${to}`;
  const { outside, days } = against(both, { from, to });
  const say = (values: string[], evidence: string, handled?: Finding['handled']): { filter: Candidates } => ({
    filter: { list: name, values, evidence, ...(handled && { handled }) },
  });
  if (both.verdict.kind !== 'success')
    return say(
      [],
      `${asked} is answered with HTTP ${both.status}`,
      'not: a date window that is refused ends the reading',
    );
  if (outside > 0) return say(['ignored'], `asked for ${asked}, got ${outside} rows outside`);
  if (days.length === 0) return say([], `asked for ${asked}, got none of the rows of these days`, UNREACHED);
  const end: Candidates = endOf(name, days, { from, to }, isAll(both));
  const single = await ask({ date_from: from });
  const before = against(single, { from, to: '9999' }).outside;
  const evidence = `asked for ${asked}, got ${both.rows?.length} rows, all within`;
  if (before > 0) return { ...say(['pair-only'], `date_from alone returned ${before} rows before it`), end };
  return { ...say(['honoured'], evidence), end };
}

const UNREACHED = 'not: rows with a date would be reached by no window';

/** Rows of both ends are known to exist. A page that is not all of the window may lack them. */
function endOf(list: ListName, days: readonly string[], { from, to }: DayRange, whole: boolean): Candidates {
  const [first, last] = [days.includes(from), days.includes(to)];
  if (last && (first || !whole))
    return { list, values: ['inclusive'], evidence: `rows of ${to} came for date_to=${to}` };
  if (!whole) return { list, values: ['inclusive', 'exclusive'], evidence: 'the window has more than a page of rows' };
  if (first)
    return { list, values: ['exclusive'], evidence: `no row of ${to} came for date_to=${to}, though there is one` };
  return {
    list,
    values: [],
    evidence: `no row of ${from} came for date_from=${from}, though there is one`,
    handled: 'yes',
  };
}

/** Whether nothing says that the page is not the whole of what was asked for. */
export function isAll({ count, meta }: Pick<Answer, 'count' | 'meta'>): boolean {
  if (meta?.totalRecords !== undefined) return count >= meta.totalRecords;
  return !ROUND.includes(count);
}

function against({ rows = [] }: Answer, { from, to }: DayRange): { outside: number; days: string[] } {
  const days = rows.map(dayOf).filter(day => day !== null);
  return { outside: days.filter(day => day < from || day > to).length, days };
}

/** Rows that show no date: windows that do not meet must not return the same rows. */
async function probeHalves(asker: Asker, seen: Seen): Promise<Candidates[]> {
  const { name, limit } = seen;
  const day = (before: number) => new Date(asker.now() - before * DAY).toISOString().slice(0, 10);
  const windows = [
    { date_from: day(400), date_to: day(201) },
    { date_from: day(200), date_to: day(0) },
  ];
  const [older, newer] = [
    await askSome(asker, name, { ...windows[0], page: 1, limit }),
    await askSome(asker, name, { ...windows[1], page: 1, limit }),
  ];
  const texts = new Set(older.rows?.map(row => JSON.stringify(row)));
  const same = newer.rows?.filter(row => texts.has(JSON.stringify(row))).length ?? 0;
  const both = Math.min(older.rows?.length ?? 0, newer.rows?.length ?? 0);
  if (both === 0) return [];
  if (same > 0) {
    const evidence = `two windows that do not meet returned the same ${same} rows`;
    return [{ list: name, values: ['ignored'], evidence }];
  }
  const alone = await askSome(asker, name, { date_from: day(200), page: 1, limit });
  const less = (alone.meta?.totalRecords ?? 0) > (newer.meta?.totalRecords ?? Number.POSITIVE_INFINITY);
  const wider = alone.meta?.totalRecords === seen.total && less;
  const evidence = 'two windows that do not meet returned different rows';
  if (wider) return [{ list: name, values: ['pair-only'], evidence: 'date_from alone returned the whole list' }];
  return [{ list: name, values: alone.meta ? ['honoured'] : ['honoured', 'pair-only'], evidence }];
}
