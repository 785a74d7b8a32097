import { type Finding, strange, told, untold } from '../findings/finding.ts';
import { askSome, type Lists } from '../lists/read-lists.ts';
import type { Asker } from '../requests/requester.ts';
import type { Row } from '../requests/send-request.ts';
import { dayOf, isAll } from './check-dates.ts';

const PATH = '/api/v2/reports/financial';
/** Pages that a month may take, or it is not read. */
const MOST_PAGES = 3;
const MONTHS = 2;

/** `report`: whether it is there, and whether its sums are those of the rows of months that are read in full. */
export async function probeReport(asker: Asker, lists: Lists, windowsWork: boolean): Promise<Finding> {
  const transactions = lists.offered.find(({ name }) => name === 'transactions');
  const months = monthsToRead(transactions?.rows ?? []);
  const [first] = months;
  const said = await askReport(asker, first ?? '2025-01');
  if (said.verdict.kind === 'gone') return told('report', 'absent', 'HTTP 404');
  if (said.verdict.kind !== 'success') return strange('report', `HTTP ${said.status}`, 'yes');
  if (!transactions || first === undefined)
    return untold('report', 'it is there, but no month has transactions to compare it with');
  if (!windowsWork) return untold('report', 'it is there, but no month can be read by its dates to compare it with');
  const agreed: string[] = [];
  for (const month of months) {
    const rows = await readMonth(asker, transactions.limit, month);
    if (rows === null) continue;
    const report = month === first ? said : await askReport(asker, month);
    const apart = compare(report.data, rows);
    if (apart !== null) return told('report', 'other-rules', `${month}: ${apart}; its totals are not used then`);
    agreed.push(`${month} (${rows.length} rows)`);
  }
  if (agreed.length === 0)
    return untold('report', 'it is there, but no month could be read in full to compare it with');
  return told('report', 'by-date', `income and expenses agree with the rows of ${agreed.join(' and ')}`);
}

function askReport(asker: Asker, month: string) {
  const query = { year: month.slice(0, 4), month: String(Number(month.slice(5))) };
  return asker.ask(PATH, { query, expect: 'one' });
}

/** The newest months that are over, by what the first page shows; the newest of all may still grow. */
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

/** All rows of a month, asked a day wider in case the last day is left out; null where they may not be all. */
async function readMonth(asker: Asker, limit: number, month: string): Promise<Row[] | null> {
  const window = { date_from: `${month}-01`, date_to: `${monthAfter(month, 1)}-01` };
  const rows: Row[] = [];
  for (let page = 1; page <= MOST_PAGES; page++) {
    const answer = await askSome(asker, 'transactions', { ...window, page, limit });
    const pages = answer.meta?.totalPages;
    if (answer.verdict.kind !== 'success' || (pages ?? 1) > MOST_PAGES) return null;
    rows.push(...(answer.rows ?? []));
    if (pages === undefined ? isAll(answer) : page >= pages) return rows.filter(row => dayOf(row)?.startsWith(month));
    // Without a count, another page may be the same one again.
    if (pages === undefined) return null;
  }
  return null;
}

function compare(said: unknown, rows: readonly Row[]): string | null {
  const report = (said ?? {}) as Record<string, unknown>;
  const sums = { income: sumOf(rows, 'Income'), expenses: sumOf(rows, 'Expense') };
  for (const [name, sum] of Object.entries(sums)) {
    // To the cent, as a source may sum with doubles.
    const value = report[name] === '' || report[name] === null ? Number.NaN : Number(report[name]);
    if (!(Math.abs(value - sum) < 0.005))
      return `${name} is ${String(report[name])}, the rows sum up to ${sum.toFixed(2)}`;
  }
  return null;
}

const sumOf = (rows: readonly Row[], type: string) =>
  rows.filter(row => row.type === type).reduce((sum, row) => sum + Number(row.amount), 0);
