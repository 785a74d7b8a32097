import type { Asker } from './ask.ts';
import { type Finding, strange, told, untold } from './finding.ts';
import { pathOf } from './lists.ts';
import { FEW, type Lists, type Seen } from './read-lists.ts';
import type { Answer } from './send.ts';

const MORE = 2000;
const DEFAULT = 20;

/** `limit-max`: how many rows came of how many that were asked for, where there were more. */
export async function probeLimit(asker: Asker, lists: Lists): Promise<Finding> {
  const { limit, refused } = lists;
  if (refused) return refusal(refused, limit);
  const paged = lists.offered.filter(isPaged);
  const cut = paged.filter(seen => hasMore(seen, seen.rows.length));
  const most = [...paged].sort((a, b) => b.rows.length - a.rows.length)[0];
  const clamped = [...cut].sort((a, b) => a.rows.length - b.rows.length)[0];
  if (!most || most.rows.length === 0) return untold('limit-max', 'no list that is paged has a row');
  if (!clamped)
    return untold('limit-max', `no list that is paged has more than the ${most.rows.length} rows that came at once`);
  const got = clamped.rows.length;
  const evidence = `${clamped.name}: ${limit} were asked for, ${got} of ${clamped.total ?? 'more'} came`;
  if (got < limit && got === 100) return told('limit-max', '100', evidence);
  if (got < limit && got === DEFAULT) return await lessThanDefault(asker, clamped, evidence);
  if (got < limit) return strange('limit-max', evidence, 'yes');
  if (got > limit) return strange('limit-max', evidence, 'yes');
  return await moreThanMuch(asker, clamped);
}

/** Whether a limit below the default counts for something. */
async function lessThanDefault(asker: Asker, seen: Seen, evidence: string): Promise<Finding> {
  const few = seen.second ?? (await asker.ask(pathOf(seen.name), { query: { page: 2, limit: FEW } }));
  const same = few.rows?.length !== FEW;
  if (same) return told('limit-max', 'ignored', `${evidence}; ${FEW} were asked for, ${few.rows?.length} came`);
  return strange('limit-max', `${evidence}; less is given where less is asked for`, 'yes');
}

async function moreThanMuch(asker: Asker, { name, total = 0 }: Seen): Promise<Finding> {
  const answer = await asker.ask(pathOf(name), { query: { page: 1, limit: MORE } });
  if (answer.verdict.kind === 'refused')
    return strange('limit-max', `${name}: ${MORE} rows are refused with HTTP ${answer.status}, 1000 are not`, 'yes');
  const got = answer.rows?.length ?? 0;
  const evidence = `${name}: ${MORE} were asked for, ${got} of ${total} came`;
  if (got === 1000) return told('limit-max', '1000', evidence);
  return got > 1000 ? told('limit-max', 'honoured', evidence) : strange('limit-max', evidence, 'yes');
}

function refusal(refused: { limit: number; answer: Answer }, taken: number): Finding {
  const evidence = `limit=${refused.limit} is refused with HTTP ${refused.answer.status}, ${taken} is not`;
  const sure = refused.limit === taken + 1;
  return sure ? told('limit-max', `${taken}-reject`, evidence) : strange('limit-max', evidence, 'yes');
}

/** A list that gives fewer rows at once than it has, and counts them or shows them on another page. */
function isPaged({ first, second, rows }: Seen): boolean {
  if (first.meta) return true;
  return second?.rows !== undefined && second.rows.length !== rows.length;
}

function hasMore({ total, second, rows }: Seen, got: number): boolean {
  if (total !== undefined) return total > got;
  // Without a count a full page is a sign of more, a page of any other number is not.
  return second !== null && (rows.length === 100 || rows.length === 1000);
}
