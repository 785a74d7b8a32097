import { type Finding, observed, undetermined, unrecognized } from '../findings/finding.ts';
import { type ListReadings, requestRows } from '../lists/read-lists.ts';
import type { Requester } from '../requests/requester.ts';
import type { Row } from '../requests/send-request.ts';
import { dayOf, isComplete } from './dates/check-dates.ts';

const PATH = '/api/v2/reports/financial';
/** Longer months are not read. */
const MAX_PAGES = 3;
const MONTHS = 2;

/** `report`: whether it exists, and whether its sums agree with the rows of completely read months. */
export async function checkReport(requester: Requester, lists: ListReadings, windowsWork: boolean): Promise<Finding> {
  const transactions = lists.offered.find(({ name }) => name === 'transactions');
  const months = monthsToRead(transactions?.rows ?? []);
  const [first] = months;
  const firstReport = await requestReport(requester, first ?? '2025-01');
  if (firstReport.verdict.kind === 'gone') return observed('report', 'absent', 'HTTP 404');
  if (firstReport.verdict.kind !== 'success') return unrecognized('report', `HTTP ${firstReport.status}`, 'yes');
  if (!transactions || first === undefined)
    return undetermined('report', 'it exists, but no month has transactions to compare');
  if (!windowsWork) return undetermined('report', 'it exists, but no month can be read by date to compare');
  const agreed: string[] = [];
  for (const month of months) {
    const rows = await readMonth(requester, transactions.limit, month);
    if (rows === null) continue;
    const report = month === first ? firstReport : await requestReport(requester, month);
    const difference = compare(report.data, rows);
    if (difference !== null)
      return observed('report', 'other-rules', `${month}: ${difference}; Sluice does not use its totals`);
    agreed.push(`${month} (${rows.length} rows)`);
  }
  if (agreed.length === 0) return undetermined('report', 'it exists, but no month could be read completely to compare');
  return observed('report', 'by-date', `income and expenses agree with the rows of ${agreed.join(' and ')}`);
}

function requestReport(requester: Requester, month: string) {
  const query = { year: month.slice(0, 4), month: String(Number(month.slice(5))) };
  return requester.request(PATH, { query, expect: 'one' });
}

/** The newest complete months on the first page; the newest of all may still grow. */
function monthsToRead(rows: readonly Row[]): string[] {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const month = dayOf(row)?.slice(0, 7);
    if (month) counts.set(month, (counts.get(month) ?? 0) + 1);
  }
  const [newest, ...older] = [...counts.keys()].sort().reverse();
  const full = older.filter(month => (counts.get(month) ?? 0) > 1);
  if (full.length > 0) return full.slice(0, MONTHS);
  return newest === undefined ? [] : [monthAfter(newest, -1)];
}

function monthAfter(month: string, count: number): string {
  const day = new Date(`${month}-01T00:00:00Z`);
  day.setUTCMonth(day.getUTCMonth() + count);
  return day.toISOString().slice(0, 7);
}

/** All rows of a month, or null if some may be missing. The window is a day wider, in case date_to is excluded. */
async function readMonth(requester: Requester, limit: number, month: string): Promise<Row[] | null> {
  const window = { date_from: `${month}-01`, date_to: `${monthAfter(month, 1)}-01` };
  const rows: Row[] = [];
  for (let page = 1; page <= MAX_PAGES; page++) {
    const answer = await requestRows(requester, 'transactions', { ...window, page, limit });
    const pages = answer.meta?.totalPages;
    if (answer.verdict.kind !== 'success' || (pages ?? 1) > MAX_PAGES) return null;
    rows.push(...(answer.rows ?? []));
    if (pages === undefined ? isComplete(answer) : page >= pages)
      return rows.filter(row => dayOf(row)?.startsWith(month));
    // Without a count, the next page may repeat this one.
    if (pages === undefined) return null;
  }
  return null;
}

function compare(data: unknown, rows: readonly Row[]): string | null {
  const report = (data ?? {}) as Record<string, unknown>;
  const sums = { income: sumOf(rows, 'Income'), expenses: sumOf(rows, 'Expense') };
  for (const [name, sum] of Object.entries(sums)) {
    // To the cent, because a source may sum with doubles.
    const value = report[name] === '' || report[name] === null ? Number.NaN : Number(report[name]);
    if (!(Math.abs(value - sum) < 0.005))
      return `${name} is ${String(report[name])}, the rows add up to ${sum.toFixed(2)}`;
  }
  return null;
}

const sumOf = (rows: readonly Row[], type: string) =>
  rows.filter(row => row.type === type).reduce((sum, row) => sum + Number(row.amount), 0);
