import { type Finding, strange, told, untold } from '../findings/finding.ts';
import { pathOf } from '../lists/documented-lists.ts';
import { FEW, type Lists, type Seen } from '../lists/read-lists.ts';
import type { Asker } from '../requests/requester.ts';

const MORE = 2000;
const DEFAULT = 20;

/** `limit-max`: how many rows came of how many that were asked for, where there were more; and lists that take less than customers. */
export async function probeLimit(asker: Asker, { offered }: Lists): Promise<Finding[]> {
  const customers = offered.find(({ name }) => name === 'customers');
  const less = offered.filter(({ name, tooMuch }) => name !== 'customers' && tooMuch !== null);
  const of = less.map(seen => ({ ...tooMuchFor(seen), lists: [seen.name] }));
  if (customers?.tooMuch) return [tooMuchFor(customers), ...of];
  return [
    await probeMost(
      asker,
      offered.filter(each => !less.includes(each)),
    ),
    ...of,
  ];
}

async function probeMost(asker: Asker, offered: readonly Seen[]): Promise<Finding> {
  const paged = offered.filter(isPaged);
  const cut = paged.filter(hasMore);
  const most = [...paged].sort((a, b) => b.first.count - a.first.count)[0];
  const clamped = [...cut].sort((a, b) => a.first.count - b.first.count)[0];
  if (!most || most.rows.length === 0) return untold('limit-max', 'no list that is paged has a row');
  if (!clamped)
    return untold('limit-max', `no list that is paged has more than the ${most.first.count} rows that came at once`);
  const { limit } = clamped;
  const got = clamped.first.count;
  const evidence = `${clamped.name}: ${limit} were asked for, ${got} of ${clamped.total ?? 'more'} came`;
  if (got < limit && got === 100) return told('limit-max', '100', evidence);
  if (got < limit && got === DEFAULT) return await lessThanDefault(asker, clamped, evidence);
  if (got !== limit) return strange('limit-max', evidence, 'yes');
  return await moreThanMuch(asker, clamped);
}

/** Whether a limit below the default counts for something. */
async function lessThanDefault(asker: Asker, seen: Seen, evidence: string): Promise<Finding> {
  const few = seen.second ?? (await asker.ask(pathOf(seen.name), { query: { page: 2, limit: FEW } }));
  const same = few.count !== FEW;
  if (same) return told('limit-max', 'ignored', `${evidence}; ${FEW} were asked for, ${few.count} came`);
  return strange('limit-max', `${evidence}; less is given where less is asked for`, 'yes');
}

async function moreThanMuch(asker: Asker, { name, total = 0 }: Seen): Promise<Finding> {
  const answer = await asker.ask(pathOf(name), { query: { page: 1, limit: MORE } });
  if (answer.verdict.kind === 'refused')
    return strange('limit-max', `${name}: ${MORE} rows are refused with HTTP ${answer.status}, 1000 are not`, 'yes');
  const got = answer.count;
  const evidence = `${name}: ${MORE} were asked for, ${got} of ${total} came`;
  if (got === 1000) return told('limit-max', '1000', evidence);
  return got > 1000 ? told('limit-max', 'honoured', evidence) : strange('limit-max', evidence, 'yes');
}

function tooMuchFor({ limit, tooMuch }: Seen): Finding {
  const evidence = `limit=${tooMuch?.limit} ${tooMuch?.what}, ${limit} is taken`;
  const sure = tooMuch?.limit === limit + 1;
  return sure ? told('limit-max', `${limit}-reject`, evidence) : strange('limit-max', evidence, 'yes');
}

/** A list that gives fewer rows at once than it has, and counts them or shows them on another page. */
function isPaged({ first, second }: Seen): boolean {
  if (first.meta) return true;
  return second?.rows !== undefined && second.count !== first.count;
}

function hasMore({ total, second, first: { count } }: Seen): boolean {
  if (total !== undefined) return total > count;
  // Without a count a full page is a sign of more, a page of any other number is not.
  return second !== null && (count === 100 || count === 1000);
}
