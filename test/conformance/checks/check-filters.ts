import { agree, type Candidates, type Finding, strange, told, untold } from '../findings/finding.ts';
import { type ListName, pathOf, shapeOf } from '../lists/documented-lists.ts';
import { askCount, askSome, type Lists, type Seen } from '../lists/read-lists.ts';
import type { Asker } from '../requests/requester.ts';
import type { Row } from '../requests/send-request.ts';

/** `filters`: each documented one is asked for a value that some of the rows that were read have, and others have not. */
export async function probeFilters(asker: Asker, lists: Lists): Promise<Finding[]> {
  const found: Candidates[] = [];
  for (const seen of lists.offered) {
    const { state, filters = [] } = shapeOf(seen.name);
    for (const field of [...(state ? [state.field] : []), ...filters]) {
      const value = valueToAsk(seen.rows, field);
      if (value !== null) found.push(await probeFilter(asker, seen.name, field, value));
    }
  }
  if (found.length === 0) return [untold('filters', 'no list has rows of two different values')];
  return agree('filters', found);
}

/** Rows to ask for: so many of those that were read would come if a filter or a search were ignored. */
const SOME = 20;

/** The commonest value that a row of those that come without a filter does not have, unless all rows have the same. */
function valueToAsk(rows: readonly Row[], field: string): string | null {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const value = row[field];
    if (typeof value !== 'string' && typeof value !== 'number') continue;
    if (value !== '') counts.set(String(value), (counts.get(String(value)) ?? 0) + 1);
  }
  if (counts.size < 2) return null;
  const unfiltered = rows.slice(0, SOME);
  const values = [...counts].sort((a, b) => b[1] - a[1]).map(([value]) => value);
  return values.find(value => unfiltered.some(row => String(row[field]) !== value)) ?? null;
}

async function probeFilter(asker: Asker, name: ListName, field: string, value: string): Promise<Candidates> {
  const answer = await askSome(asker, name, { [field]: value, page: 1, limit: SOME });
  const list = `${name}.${field}`;
  const rows = answer.rows ?? [];
  const others = rows.filter(row => String(row[field]) !== value).length;
  const asked = `asked for ${field}=${value}`;
  if (answer.verdict.kind !== 'success')
    return { list, values: [], evidence: `${asked}: HTTP ${answer.status}`, handled: REFUSED };
  if (rows.length === 0)
    return { list, values: [], evidence: `${asked}, got none, though there are some`, handled: EMPTY };
  if (others > 0)
    return { list, values: ['ignored'], evidence: `${asked}, got ${others} of ${rows.length} rows with another` };
  return { list, values: ['honoured'], evidence: `${asked}, got ${rows.length} rows, all with it` };
}

const REFUSED = 'not: a filter that is refused ends the reading as a failure';
const EMPTY = 'not: a filter that hides rows lets changes come late';

/** `states`: those that were shown, and those that the counts of the documented ones leave over. */
export async function probeStates(asker: Asker, lists: Lists, filtersWork: boolean): Promise<Finding> {
  const known = lists.offered.filter(({ name, rows }) => shapeOf(name).state && rows.length > 0);
  if (known.length === 0) return untold('states', 'no list with states has a row');
  const others = known.flatMap(({ name, rows }) => {
    const { field, values } = shapeOf(name).state as { field: string; values: readonly string[] };
    const shown = new Set(
      rows.map(row => row[field]).filter(state => state !== null && state !== undefined && state !== ''),
    );
    return [...shown]
      .filter(state => !values.includes(String(state)))
      .map(state => `${name}.${field} ${String(state)}`);
  });
  if (others.length > 0) return told('states', 'more', others.slice(0, 8).join(', '));
  for (const seen of filtersWork ? known.filter(({ name }) => name !== 'tickets') : []) {
    const over = await leftOver(asker, seen);
    if (over > 0) return told('states', 'more', `${seen.name}: ${over} rows have none of the documented states`);
  }
  const rows = known.reduce((sum, each) => sum + each.rows.length, 0);
  return told('states', 'documented', `${rows} rows were looked at${filtersWork ? ', and the others counted' : ''}`);
}

async function leftOver(asker: Asker, seen: Seen): Promise<number> {
  const { field, values } = shapeOf(seen.name).state as { field: string; values: readonly string[] };
  if (seen.total === undefined) return 0;
  let sum = 0;
  for (const value of values) sum += (await askCount(asker, seen, { [field]: value })) ?? 0;
  if (sum === seen.total) return 0;
  // The list may have moved meanwhile.
  return (await askCount(asker, seen, {})) === seen.total ? seen.total - sum : 0;
}

/** `search` of customers, which the document shows without saying what it looks at. */
export async function probeSearch(asker: Asker, { offered }: Lists): Promise<Finding> {
  const unfiltered = (offered.find(({ name }) => name === 'customers')?.rows ?? []).slice(0, SOME);
  const names = unfiltered
    .map(row => row.account)
    .filter((name): name is string => typeof name === 'string' && name.length > 4);
  // Where most rows hold the name, a search that is ignored would look honoured.
  const term = names.find(name => 2 * holding(unfiltered, name) < unfiltered.length);
  if (term === undefined) return untold('search', 'there are too few customers of different names');
  const answer = await asker.ask(pathOf('customers'), { query: { search: term, page: 1, limit: SOME } });
  const found = answer.rows ?? [];
  const hits = holding(found, term);
  if (answer.verdict.kind !== 'success')
    return strange('search', `HTTP ${answer.status} for the name of a customer`, 'yes');
  if (hits === 0) return strange('search', 'the name of a customer does not find it', 'yes');
  const evidence = `rows found by the name of a customer: ${found.length}, with that name: ${hits}`;
  const ignored = found.length >= unfiltered.length && 2 * hits < found.length;
  return told('search', ignored ? 'ignored' : 'honoured', evidence);
}

/** Rows that hold the text in one of their fields. */
function holding(rows: readonly Row[], text: string): number {
  const holds = (value: unknown) => typeof value === 'string' && value.toLowerCase().includes(text.toLowerCase());
  return rows.filter(row => Object.values(row).some(holds)).length;
}
