import {
  type Candidates,
  combineLists,
  type Finding,
  observed,
  undetermined,
  unrecognized,
} from '../findings/finding.ts';
import { type ListName, pathOf, shapeOf } from '../lists/documented-lists.ts';
import { countObjects, type ListReading, type ListReadings, requestCount, requestRows } from '../lists/read-lists.ts';
import type { Requester } from '../requests/requester.ts';
import type { Row } from '../requests/send-request.ts';

/** `filters`: requests each documented filter with a value that only some of the rows have. */
export async function checkFilters(requester: Requester, lists: ListReadings): Promise<Finding[]> {
  const found: Candidates[] = [];
  for (const reading of lists.offered) {
    const { state, filters = [] } = shapeOf(reading.name);
    for (const field of [...(state ? [state.field] : []), ...filters]) {
      const value = discriminatingValue(reading.rows, field);
      if (value !== null) found.push(await checkFilter(requester, reading.name, field, value));
    }
  }
  if (found.length === 0) return [undetermined('filters', 'no list has rows of two different values')];
  return combineLists('filters', found);
}

/** Rows per request. */
const ROWS = 20;

/** The most frequent value that some of the unfiltered rows lack; null if all rows have the same value. */
function discriminatingValue(rows: readonly Row[], field: string): string | null {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const value = row[field];
    if (typeof value !== 'string' && typeof value !== 'number') continue;
    if (value !== '') counts.set(String(value), (counts.get(String(value)) ?? 0) + 1);
  }
  if (counts.size < 2) return null;
  const unfiltered = rows.slice(0, ROWS);
  const values = [...counts].sort((a, b) => b[1] - a[1]).map(([value]) => value);
  return values.find(value => unfiltered.some(row => String(row[field]) !== value)) ?? null;
}

async function checkFilter(requester: Requester, name: ListName, field: string, value: string): Promise<Candidates> {
  const answer = await requestRows(requester, name, { [field]: value, page: 1, limit: ROWS });
  const list = `${name}.${field}`;
  const rows = answer.rows ?? [];
  const others = rows.filter(row => String(row[field]) !== value).length;
  const requested = `requested ${field}=${value}`;
  if (answer.verdict.kind !== 'success')
    return { list, values: [], evidence: `${requested}: HTTP ${answer.status}`, handled: REJECTED };
  if (rows.length === 0)
    return { list, values: [], evidence: `${requested}, got no rows, although some exist`, handled: EMPTY };
  if (others > 0)
    return {
      list,
      values: ['ignored'],
      evidence: `${requested}, got ${others} of ${rows.length} rows with another value`,
    };
  return { list, values: ['honoured'], evidence: `${requested}, got ${rows.length} rows, all with this value` };
}

const REJECTED = 'not: reading fails when a filter is rejected';
const EMPTY = 'not: changes arrive late when a filter hides rows';

/** `states`: the states of the rows read, and the difference between all rows and those in documented states. */
export async function checkStates(requester: Requester, lists: ListReadings, filtersWork: boolean): Promise<Finding> {
  const known = lists.offered.filter(({ name, rows }) => shapeOf(name).state && rows.length > 0);
  if (known.length === 0) return undetermined('states', 'no list with states has rows');
  const others = known.flatMap(({ name, rows }) => {
    const { field, values } = shapeOf(name).state as { field: string; values: readonly string[] };
    const shown = new Set(
      rows.map(row => row[field]).filter(state => state !== null && state !== undefined && state !== ''),
    );
    return [...shown]
      .filter(state => !values.includes(String(state)))
      .map(state => `${name}.${field} ${String(state)}`);
  });
  if (others.length > 0) return observed('states', 'more', others.slice(0, 8).join(', '));
  for (const reading of filtersWork ? known.filter(({ name }) => name !== 'tickets') : []) {
    const over = await countOtherStates(requester, reading);
    if (over > 0) return observed('states', 'more', `${reading.name}: ${over} rows are in no documented state`);
  }
  const rows = known.reduce((sum, each) => sum + each.rows.length, 0);
  return observed('states', 'documented', `${rows} rows were read${filtersWork ? ', and the others counted' : ''}`);
}

async function countOtherStates(requester: Requester, reading: ListReading): Promise<number> {
  const { field, values } = shapeOf(reading.name).state as { field: string; values: readonly string[] };
  const objects = countObjects(reading);
  if (objects === undefined) return 0;
  let sum = 0;
  for (const value of values) sum += (await requestCount(requester, reading, { [field]: value })) ?? 0;
  if (sum >= objects) return 0;
  // The list may have changed meanwhile.
  return (await requestCount(requester, reading, {})) === reading.total ? objects - sum : 0;
}

/** `search` of customers; the document does not say which fields it covers. */
export async function checkSearch(requester: Requester, { offered }: ListReadings): Promise<Finding> {
  const unfiltered = (offered.find(({ name }) => name === 'customers')?.rows ?? []).slice(0, ROWS);
  const names = unfiltered
    .map(row => row.account)
    .filter((name): name is string => typeof name === 'string' && name.length > 4);
  // If most rows contain the name, an ignored search would look honoured.
  const term = names.find(name => 2 * countContaining(unfiltered, name) < unfiltered.length);
  if (term === undefined) return undetermined('search', 'too few customers have different names');
  const answer = await requester.request(pathOf('customers'), { query: { search: term, page: 1, limit: ROWS } });
  const found = answer.rows ?? [];
  const hits = countContaining(found, term);
  if (answer.verdict.kind !== 'success')
    return unrecognized('search', `HTTP ${answer.status} for the name of a customer`, 'yes');
  if (hits === 0) return unrecognized('search', 'a search for the name of a customer does not find it', 'yes');
  const evidence = `a search for the name of a customer returns ${found.length} rows, ${hits} with that name`;
  const ignored = found.length >= unfiltered.length && 2 * hits < found.length;
  return observed('search', ignored ? 'ignored' : 'honoured', evidence);
}

/** The number of rows that contain the text in a field. */
function countContaining(rows: readonly Row[], text: string): number {
  const holds = (value: unknown) => typeof value === 'string' && value.toLowerCase().includes(text.toLowerCase());
  return rows.filter(row => Object.values(row).some(holds)).length;
}
