import {
  type Candidates,
  combineLists,
  type Finding,
  observed,
  undetermined,
  unrecognized,
} from '../findings/finding.ts';
import { pathOf, SUSPICIOUS_COUNTS } from '../lists/documented-lists.ts';
import { FEW, type ListReading, type ListReadings } from '../lists/read-lists.ts';
import type { Requester } from '../requests/requester.ts';
import type { Answer, Row } from '../requests/send-request.ts';

/** A list with exactly this many rows may be truncated. */
const CAPS = ['100', '500', '1000'];

/** `paging` and `cap`, from two pages of each list. */
export function checkPaging({ offered }: ListReadings): Finding[] {
  const others = offered.filter(({ name }) => name !== 'customers').flatMap(candidatesOf);
  const paging = combineLists('paging', others);
  const capped = offered.filter(
    reading => isWholeListAgain(reading) && SUSPICIOUS_COUNTS.includes(reading.first.count),
  );
  const caps = capped.map(({ name, first: { count } }) => ({
    list: name,
    values: CAPS.filter(cap => Number(cap) === count),
    evidence: `exactly ${count} rows whatever page and limit`,
  }));
  if (caps.length > 0) return [...paging, ...combineLists('cap', caps)];
  return [...paging, undetermined('cap', 'no list has a round number of rows')];
}

function candidatesOf(reading: ListReading): Candidates[] {
  const { name, first, rows, total, second } = reading;
  const { count } = first;
  const candidates = (values: readonly string[], evidence: string, handled?: Finding['handled']): Candidates[] => [
    { list: name, values, evidence, ...(handled && { handled }) },
  ];
  if (first.meta) {
    if (!second) return candidates(['meta'], `meta counts ${total} rows, page 1 has ${count}`);
    if (isSame(second.rows, rows.slice(0, second.rows?.length)))
      return candidates(
        [],
        'meta counts more pages, but page 2 repeats page 1',
        'not: rows beyond page 1 cannot be read',
      );
    return candidates(['meta'], `meta counts ${total} rows, and page 2 differs from page 1`);
  }
  if (!second || rows.length === 0) return [];
  const few = second.rows ?? [];
  if (few.length === 0) return candidates(['no-meta'], 'no meta, and page 2 is empty');
  if (isWholeListAgain(reading)) {
    // With so few rows all kinds of paging look the same.
    if (count <= FEW) return [];
    if (SUSPICIOUS_COUNTS.includes(count)) {
      const known = CAPS.includes(String(count));
      const evidence = `no meta, and exactly ${count} rows whatever page and limit`;
      return candidates(count === 20 ? ['ignored'] : known ? ['capped'] : [], evidence);
    }
    const more = CAPS.some(cap => Number(cap) > count);
    return candidates(
      more ? ['whole', 'capped'] : ['whole'],
      `no meta, and the same ${count} rows whatever page and limit`,
    );
  }
  if (isSame(few, rows.slice(0, few.length)))
    return candidates(['ignored'], `no meta, and page 2 repeats the first ${few.length} rows`);
  return candidates(['no-meta'], 'no meta, and page 2 differs from page 1');
}

/** Page 2 at five rows per page has all the rows of page 1. */
function isWholeListAgain({ first, second, rows }: ListReading): boolean {
  if (first.meta || !second?.rows || second.rows.length !== rows.length || rows.length === 0) return false;
  const texts = (some: readonly Row[]) => some.map(row => JSON.stringify(row)).sort();
  return isSame(texts(second.rows), texts(rows));
}

function isSame(some: readonly unknown[] | undefined, others: readonly unknown[]): boolean {
  return JSON.stringify(some) === JSON.stringify(others);
}

/** `past-end`: requests a page after the last one of customers, whose paging is documented. */
export async function checkPastEnd(requester: Requester, { offered }: ListReadings): Promise<Finding> {
  const customers = offered.find(({ name }) => name === 'customers');
  if (!customers || customers.rows.length === 0) return undetermined('past-end', 'there are no customers');
  const pages = customers.first.meta?.totalPages;
  const page = pages === undefined ? 100_000 : pages + 1;
  const answer = await requester.request(pathOf('customers'), { query: { page, limit: customers.limit } });
  const requested = `page ${page} of ${pages ?? 'an unknown number'}`;
  if (answer.verdict.kind === 'gone') return observed('past-end', '404', `${requested}: HTTP 404`);
  if (answer.rows?.length === 0) return observed('past-end', 'empty', `${requested}: an empty list`);
  if (answer.rows === undefined || answer.verdict.kind !== 'success')
    return unrecognized(
      'past-end',
      `${requested}: HTTP ${answer.status}`,
      pages === undefined ? FAILS_IF_REJECTED : 'yes',
    );
  const evidence = `${requested}: ${answer.rows.length} rows`;
  if (pages === undefined || pages === 1 || !isFirstPage(answer, customers))
    return observed('past-end', 'last-page', evidence);
  return unrecognized('past-end', `${evidence}, the same as page 1`, 'yes');
}

const FAILS_IF_REJECTED = 'not: reading fails when a page is rejected';

const isFirstPage = (answer: Answer, { rows }: ListReading): boolean => isSame(answer.rows, rows);
