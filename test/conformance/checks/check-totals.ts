import { type Finding, observed, undetermined, unrecognized } from '../findings/finding.ts';
import { type ListName, pathOf } from '../lists/documented-lists.ts';
import { pageFault } from '../lists/page-fault.ts';
import type { ListReading, ListReadings } from '../lists/read-lists.ts';
import type { Requester } from '../requests/requester.ts';
import type { Row } from '../requests/send-request.ts';

/** A filter that few rows match. */
interface SmallSet {
  readonly reading: ListReading;
  readonly filter: Readonly<Record<string, string>>;
  readonly matches: (row: Row) => boolean;
}

/** All rows of a small set, and the number that the list counts for it. */
interface Count {
  readonly rows: number;
  readonly total: number;
  /** What the list counts without a filter. */
  readonly whole: number | undefined;
  readonly evidence: string;
}

/** Rows per request. A page with fewer has all rows that match. */
const ROWS = 20;
/** A single count may be twice the rows by chance. */
const ENOUGH = 2;
const MAX_SETS = 4;

/** `totals`: compares the count of filters that few rows match with the rows shown. */
export async function checkTotals(requester: Requester, lists: ListReadings): Promise<Finding> {
  const wrong: Count[] = [];
  for (const set of smallSets(lists).slice(0, MAX_SETS)) {
    const count = await countOf(requester, set);
    if (count?.rows === count?.total && count) return observed('totals', 'matching', count.evidence);
    if (count && wrong.push(count) >= ENOUGH) break;
  }
  const [first] = wrong;
  if (!first) return undetermined('totals', 'no list counts the rows of a filter that few rows match');
  if (wrong.every(({ total, whole }) => total === whole)) return observed('totals', 'unfiltered', first.evidence);
  if (wrong.every(({ rows, total }) => total === 2 * rows)) return observed('totals', 'doubled', first.evidence);
  if (wrong.every(({ rows, total }) => total > rows)) return observed('totals', 'with-deleted', first.evidence);
  return unrecognized('totals', first.evidence, 'yes');
}

async function countOf(requester: Requester, { reading, filter, matches }: SmallSet): Promise<Count | null> {
  const { name, first, total: whole } = reading;
  const answer = await requester.request(pathOf(name), {
    query: { ...filter, page: 1, limit: ROWS },
    findFault: pageFault(name, first),
  });
  const { rows = [], meta, verdict } = answer;
  const total = meta?.totalRecords;
  const isWhole = verdict.kind === 'success' && rows.length > 0 && rows.length < ROWS && rows.every(matches);
  if (!isWhole || total === undefined) return null;
  const requested = new URLSearchParams(filter).toString();
  const evidence = `${name}: requested ${requested}, got ${rows.length} rows, counted as ${total}`;
  return { rows: rows.length, total, whole, evidence };
}

/** Invoices of one customer, and customers of one name. */
function smallSets({ offered }: ListReadings): SmallSet[] {
  const sets = (list: ListName, field: string, make: (reading: ListReading, value: string) => SmallSet) =>
    offered
      .filter(({ name, total }) => name === list && total !== undefined)
      .flatMap(reading => mostFrequent(reading, field).map(value => make(reading, value)));
  return [
    ...sets('invoices', 'customer_id', (reading, value) => ({
      reading,
      filter: { customer_id: value },
      matches: row => String(row.customer_id) === value,
    })),
    ...sets('customers', 'account', (reading, value) => ({
      reading,
      filter: { search: value },
      matches: row => String(row.account).includes(value),
    })),
  ];
}

/** Two values, because more rows say more about their count. */
function mostFrequent({ rows }: ListReading, field: string): string[] {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const value = row[field];
    if ((typeof value === 'string' && value.length > 0) || typeof value === 'number')
      counts.set(String(value), (counts.get(String(value)) ?? 0) + 1);
  }
  const sorted = [...counts].filter(([, count]) => count < ROWS).sort((a, b) => b[1] - a[1]);
  return sorted.slice(0, ENOUGH).map(([value]) => value);
}
