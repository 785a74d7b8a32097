import { type Finding, observed, undetermined, unrecognized } from '../findings/finding.ts';
import { pathOf, SUSPICIOUS_COUNTS } from '../lists/documented-lists.ts';
import { FEW, type ListReading, type ListReadings } from '../lists/read-lists.ts';
import type { Requester } from '../requests/requester.ts';

const LARGER_LIMIT = 2000;
const DEFAULT_LIMIT = 20;

/** `limit-max`: how many rows a list with more rows returns for a large limit, and which lists accept less than customers. */
export async function checkLimit(requester: Requester, { offered }: ListReadings): Promise<Finding[]> {
  const customers = offered.find(({ name }) => name === 'customers');
  const stricter = offered.filter(({ name, rejectedLimit }) => name !== 'customers' && rejectedLimit !== null);
  const strictFindings = stricter.map(reading => ({ ...rejectedLimitOf(reading), lists: [reading.name] }));
  if (customers?.rejectedLimit) return [rejectedLimitOf(customers), ...strictFindings];
  return [
    await checkMaximum(
      requester,
      offered.filter(each => !stricter.includes(each)),
    ),
    ...strictFindings,
  ];
}

async function checkMaximum(requester: Requester, offered: readonly ListReading[]): Promise<Finding> {
  const paged = offered.filter(isPaged);
  const longer = paged.filter(hasMore);
  // A count that is too high makes a list look cut at any number.
  const round = longer.filter(({ first, limit }) => first.count === limit || SUSPICIOUS_COUNTS.includes(first.count));
  const cut = round.length > 0 ? round : longer;
  const most = [...paged].sort((a, b) => b.first.count - a.first.count)[0];
  const clamped = [...cut].sort((a, b) => a.first.count - b.first.count)[0];
  if (!most || most.rows.length === 0) return undetermined('limit-max', 'no paged list has rows');
  if (!clamped)
    return undetermined('limit-max', `no paged list has more than the ${most.first.count} rows of its first page`);
  const { limit } = clamped;
  const got = clamped.first.count;
  const evidence = `${clamped.name}: requested ${limit} rows, got ${got} of ${clamped.total ?? 'more'}`;
  if (got < limit && got === 100) return observed('limit-max', '100', evidence);
  if (got < limit && got === DEFAULT_LIMIT) return await checkSmallLimit(requester, clamped, evidence);
  if (got !== limit) return unrecognized('limit-max', evidence, 'yes');
  return await checkLargerLimit(requester, clamped);
}

/** Whether a limit below the default has an effect. */
async function checkSmallLimit(requester: Requester, reading: ListReading, evidence: string): Promise<Finding> {
  const few = reading.second ?? (await requester.request(pathOf(reading.name), { query: { page: 2, limit: FEW } }));
  const same = few.count !== FEW;
  if (same) return observed('limit-max', 'ignored', `${evidence}; requested ${FEW}, got ${few.count}`);
  return unrecognized('limit-max', `${evidence}; a smaller limit is honoured`, 'yes');
}

async function checkLargerLimit(requester: Requester, { name, total = 0 }: ListReading): Promise<Finding> {
  const answer = await requester.request(pathOf(name), { query: { page: 1, limit: LARGER_LIMIT } });
  if (answer.verdict.kind === 'refused')
    return unrecognized(
      'limit-max',
      `${name}: limit=${LARGER_LIMIT} is rejected with HTTP ${answer.status}, limit=1000 is not`,
      'yes',
    );
  const got = answer.count;
  const evidence = `${name}: requested ${LARGER_LIMIT} rows, got ${got} of ${total}`;
  if (got === 1000) return observed('limit-max', '1000', evidence);
  return got > 1000 ? observed('limit-max', 'honoured', evidence) : unrecognized('limit-max', evidence, 'yes');
}

function rejectedLimitOf({ limit, rejectedLimit }: ListReading): Finding {
  const evidence = `limit=${rejectedLimit?.limit} ${rejectedLimit?.outcome}, ${limit} is accepted`;
  const isExact = rejectedLimit?.limit === limit + 1;
  return isExact ? observed('limit-max', `${limit}-reject`, evidence) : unrecognized('limit-max', evidence, 'yes');
}

/** A list that returns part of its rows, and counts them or returns others on page 2. */
function isPaged({ first, second }: ListReading): boolean {
  if (first.meta) return true;
  return second?.rows !== undefined && second.count !== first.count;
}

function hasMore({ total, second, first: { count, meta } }: ListReading): boolean {
  if (total !== undefined) return total > count && meta?.totalPages !== 1;
  // Without a count, only a full page suggests more rows.
  return second !== null && (count === 100 || count === 1000);
}
