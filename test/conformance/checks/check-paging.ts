import { agree, type Candidates, type Finding, strange, told, untold } from '../findings/finding.ts';
import { pathOf, ROUND } from '../lists/documented-lists.ts';
import { FEW, type Lists, type Seen } from '../lists/read-lists.ts';
import type { Asker } from '../requests/requester.ts';
import type { Answer, Row } from '../requests/send-request.ts';

/** Lists that end at one of these may be cut short. */
const CAPS = ['100', '500', '1000'];

/** `paging` and `cap`, from two pages of each list. */
export function judgePaging({ offered }: Lists): Finding[] {
  const others = offered.filter(({ name }) => name !== 'customers').flatMap(candidatesOf);
  const paging = agree('paging', others);
  const capped = offered.filter(seen => isSameWhole(seen) && ROUND.includes(seen.first.count));
  const caps = capped.map(({ name, first: { count } }) => ({
    list: name,
    values: CAPS.filter(cap => Number(cap) === count),
    evidence: `exactly ${count} rows, whatever page and limit`,
  }));
  if (caps.length > 0) return [...paging, ...agree('cap', caps)];
  return [...paging, untold('cap', 'no list ends at a round number of rows')];
}

function candidatesOf(seen: Seen): Candidates[] {
  const { name, first, rows, total, second } = seen;
  const { count } = first;
  const say = (values: readonly string[], evidence: string, handled?: Finding['handled']): Candidates[] => [
    { list: name, values, evidence, ...(handled && { handled }) },
  ];
  if (first.meta) {
    if (!second) return say(['meta'], `meta counts ${total} rows, and ${count} came`);
    if (isSame(second.rows, rows.slice(0, second.rows?.length)))
      return say(
        [],
        'meta counts more pages, and page 2 shows page 1 again',
        'not: rows beyond page 1 are not reached',
      );
    return say(['meta'], `meta counts ${total} rows, and page 2 shows others than page 1`);
  }
  if (!second || rows.length === 0) return [];
  const few = second.rows ?? [];
  if (few.length === 0) return say(['no-meta'], 'no meta, and nothing on page 2');
  if (isSameWhole(seen)) {
    // Up to so few rows every way to page looks the same.
    if (count <= FEW) return [];
    if (ROUND.includes(count)) {
      const known = CAPS.includes(String(count));
      const evidence = `no meta, and exactly ${count} rows whatever page and limit`;
      return say(count === 20 ? ['ignored'] : known ? ['capped'] : [], evidence);
    }
    const more = CAPS.some(cap => Number(cap) > count);
    return say(more ? ['whole', 'capped'] : ['whole'], `no meta, and the same ${count} rows whatever page and limit`);
  }
  if (isSame(few, rows.slice(0, few.length)))
    return say(['ignored'], `no meta, and page 2 shows the first ${few.length} rows`);
  return say(['no-meta'], 'no meta, and page 2 shows others than page 1');
}

/** Page 2 at five rows a page is all that came before. */
function isSameWhole({ first, second, rows }: Seen): boolean {
  if (first.meta || !second?.rows || second.rows.length !== rows.length || rows.length === 0) return false;
  const texts = (some: readonly Row[]) => some.map(row => JSON.stringify(row)).sort();
  return isSame(texts(second.rows), texts(rows));
}

function isSame(some: readonly unknown[] | undefined, others: readonly unknown[]): boolean {
  return JSON.stringify(some) === JSON.stringify(others);
}

/** `past-end`: a page after the last one of customers, which are documented to have pages. */
export async function probePastEnd(asker: Asker, { offered }: Lists): Promise<Finding> {
  const customers = offered.find(({ name }) => name === 'customers');
  if (!customers || customers.rows.length === 0) return untold('past-end', 'there are no customers');
  const pages = customers.first.meta?.totalPages;
  const page = pages === undefined ? 100_000 : pages + 1;
  const answer = await asker.ask(pathOf('customers'), { query: { page, limit: customers.limit } });
  const asked = `page ${page} of ${pages ?? 'an unknown number'}`;
  if (answer.verdict.kind === 'gone') return told('past-end', '404', `${asked}: HTTP 404`);
  if (answer.rows?.length === 0) return told('past-end', 'empty', `${asked}: an empty list`);
  if (answer.rows === undefined || answer.verdict.kind !== 'success')
    return strange('past-end', `${asked}: HTTP ${answer.status}`, pages === undefined ? NOT_REFUSED : 'yes');
  const evidence = `${asked}: ${answer.rows.length} rows`;
  if (pages === undefined || pages === 1 || !isFirstPage(answer, customers))
    return told('past-end', 'last-page', evidence);
  return strange('past-end', `${evidence}, those of page 1 again`, 'yes');
}

const NOT_REFUSED = 'not: a page that is refused ends the reading as a failure';

const isFirstPage = (answer: Answer, { rows }: Seen): boolean => isSame(answer.rows, rows);
