import type { Database } from '../../warehouse/database/database.ts';
import { rankOf } from '../../warehouse/rows/stored-rows.ts';
import { type Order, orderOf, pageSize, pagesOf } from '../resource.ts';
import type { Task } from '../run/task.ts';
import { addressFor, isId } from '../slices/id-ranges.ts';
import type { IdSlice } from '../slices/slice.ts';
import {
  askFirst,
  askPage,
  firstLimit,
  inOrder,
  isFull,
  learnFromPage,
  mayBeCut,
  type PageAnswer,
  pagingIgnored,
  parseRows,
  type Reader,
  sureOfEnd,
  turns,
} from './fetch-page.ts';
import type { Step } from './step.ts';

/** Two rows of a list that has more: a source that keeps to pages of its own shows more of them. */
const PROBE = { page: 1, limit: 2, flexible: false };

/** Answers that lie elsewhere are corrected this often before the loop picks anew; each is kept, so nothing is wasted. */
const MOST_CORRECTIONS = 5;

/**
 * Reads a range of a list ordered by id, in at most `most` answers from its start in the list's order. A page is only an
 * address: each answer proves the interval between its first and last id, whatever was asked for. Answers overlap by one row;
 * where they do not, because rows above went away, the gap between them stays unproven and is read in its turn.
 */
export async function* readIds(
  reader: Reader,
  database: Database,
  task: Task,
  range: IdSlice,
  most: number,
): AsyncGenerator<Step> {
  const { resource } = task;
  const order = orderOf(resource);
  const descending = order !== 'id-asc';
  const start = descending ? range.to : range.from;
  let fixed = resource.traits.get('limit') === 'ignored';
  const sized = reader.pageSize !== 'auto' || resource.traits.has('page size');
  // Addresses count by the pages that the source turns, whatever is asked for.
  const asked = firstLimit(reader, resource);
  const known = pageSize(resource, asked);
  const size = fixed ? known : Math.min(asked, known);

  // The row before the range is asked for too: it closes the gap to the neighbour's answer. Where the source's pages are not
  // known yet, only the first has a known place.
  let offset =
    start === null || order === undefined || !sized
      ? 0
      : Math.max((await rankOf(database.kysely, resource.table, start, descending)) - 1, 0);
  // Where pages are not counted they have to overlap: whether they can is found out first.
  if (offset > 0 && resource.traits.get('paging') === 'until empty' && !resource.traits.has('limit')) {
    const answer = await askPage(reader, task, range, {}, PROBE);
    const { length } = answer.rows;
    const step = stepOf(task, range, answer, place(task, answer), null);
    const honoured = { trait: 'limit', value: 'honoured', evidence: `asked for ${PROBE.limit} rows, got them` };
    yield length === PROBE.limit ? { ...step, learnt: [...(step.learnt ?? []), honoured] } : step;
    if (length > PROBE.limit) return;
  }
  let answer: PageAnswer;
  let placed: Placed;
  let shown: PageAnswer | null = null;
  let before: Placed | null = null;
  let pastEnd = Number.POSITIVE_INFINITY;
  const isTop = async ({ first }: Placed) =>
    first !== null && (await rankOf(database.kysely, resource.table, first, descending)) === 0;
  for (let correction = 0; ; correction++) {
    const address = fixed
      ? { page: Math.floor(offset / size) + 1, limit: size }
      : offset === 0
        ? { page: 1, limit: asked }
        : addressFor(offset, size);
    answer =
      address.page === 1 && correction === 0
        ? await askFirst(reader, task, range, {}, address.limit)
        : await askPage(reader, task, range, {}, { ...address, flexible: correction === 0 });
    placed = place(task, answer);
    if (shown !== null && repeats(shown, answer) && (await isTop(placed))) {
      yield { ...stepOf(task, range, answer, placed, null), learnt: [pagingIgnored(answer, shown.page)] };
      return;
    }
    shown = answer;
    let next =
      correction < MOST_CORRECTIONS &&
      placed.order !== 'none' &&
      !(mayBeLast(placed, answer) && lacks(placed, start, descending))
        ? await elsewhere(database, task, placed, start, descending)
        : null;
    if (next !== null && next >= pastEnd) next = placed.lastOffset;
    // Fixed pages do not overlap: what begins in the gap behind this one is reached with the next.
    if (fixed && next !== null && Math.floor(next / size) === Math.floor(offset / size)) next = null;
    yield stepOf(task, range, answer, placed, null);
    if (answer.rows.length === 0 && answer.page > 1 && answer.meta === undefined && correction < MOST_CORRECTIONS) {
      // A source that keeps to its own page size has nothing at this address, though the list goes on there. Any other ends before.
      if (answer.limit !== size && resource.traits.get('limit') !== 'honoured') fixed = true;
      else {
        pastEnd = placed.firstOffset;
        offset = before?.lastOffset ?? Math.max(pastEnd - size, 0);
      }
      continue;
    }
    if (placed.first !== null) before = placed;
    // Behind the end of a list that is counted: rows that are no more had pushed the address there.
    const isBehind = answer.rows.length === 0 && next !== null;
    if (placed.order === 'none' || (placed.interval === null && !isBehind)) return;
    if (next === null) break;
    // An answer shorter than asked for leaves its page size in doubt until the next page tells; the loop goes on from here.
    if (!sized && answer.rows.length < answer.limit) return;
    offset = next;
  }

  if (covers(placed, range, descending)) return;
  if (mayBeLast(placed, answer)) {
    // A short page alone does not tell that the list ends, nor a long one that it turns no pages; what is behind it does.
    const ask = () => askPage(reader, task, range, {}, { page: answer.page + 1, limit: answer.limit, flexible: false });
    const behind = await sureOfEnd(resource, answer, await ask(), ask);
    // The only page of a list comes again where its last page does, and where a list that turns no pages is cut short.
    const single = answer.page === 1 && (answer.rows.length > answer.limit || mayBeCut(resource, answer, range));
    if (behind.rows.length > 0 && !turns(resource, answer, behind) && (single || (await isTop(placed)))) {
      const learnt = [pagingIgnored(behind, answer.page)];
      yield { ...stepOf(task, range, behind, place(task, behind), null), learnt };
      return;
    }
    yield stepOf(task, range, behind, place(task, behind, null, placed), answer);
    return;
  }
  if (most <= 1 && !fixed) return;
  const rows = Math.max(Math.min(answer.rows.length, answer.limit), 1);
  const addresses: { page: number; limit: number }[] = [];
  for (let at = placed.lastOffset; addresses.length < Math.max(most - 1, fixed ? 1 : 0); ) {
    if (placed.total !== null && at >= placed.total - 1) break;
    const address = fixed ? { page: Math.floor(at / rows) + 2, limit: rows } : addressFor(at, rows);
    addresses.push(address);
    at = address.page * address.limit - 1;
  }
  const ask = (address: { page: number; limit: number }) =>
    askPage(reader, task, range, {}, { ...address, flexible: false });
  for await (const shown of inOrder(reader, addresses, ask)) {
    const further = await sureOfEnd(resource, answer, shown, () => ask(shown));
    const reached = place(task, further, fixed ? placed : null, placed);
    yield stepOf(task, range, further, reached, answer);
    if (reached.interval === null || reached.order === 'none' || covers(reached, range, descending)) return;
    placed = reached;
    answer = further;
  }
}

/** Another page, without a count, and the same rows. */
const repeats = (before: PageAnswer, answer: PageAnswer): boolean =>
  answer.page > 1 &&
  answer.meta === undefined &&
  answer.page !== before.page &&
  JSON.stringify(answer.rows) === JSON.stringify(before.rows);

interface Placed {
  readonly parsed: ReturnType<typeof parseRows>;
  /** The ids it proves; null when it proves nothing. */
  readonly interval: IdSlice | null;
  readonly order: Order | undefined;
  readonly first: bigint | null;
  readonly last: bigint | null;
  readonly firstOffset: number;
  readonly lastOffset: number;
  readonly total: number | null;
  readonly pages: number | null;
}

/** `neighbour`: the answer in front of it, where pages cannot be made to overlap; `before`: in any case. */
function place(task: Task, answer: PageAnswer, neighbour: Placed | null = null, before: Placed | null = null): Placed {
  const { resource } = task;
  const parsed = parseRows(resource, answer, new Set());
  const pages = pagesOf(answer.meta, answer.page === 1 || answer.rows.length === answer.limit ? answer.rows.length : 0);
  // A source that keeps to its own page size counts its pages by it.
  const firstOffset = (answer.page - 1) * Math.max(answer.limit, answer.rows.length);
  // Every row's place counts, also of one that does not parse; one without a readable id leaves the interval in doubt.
  const ids = idsOf(task, answer);
  const order = ids === null ? 'none' : orderOfIds(ids, orderOf(resource));
  const { totalRecords, totalPages } = answer.meta ?? {};
  const end =
    totalRecords !== undefined
      ? firstOffset + answer.rows.length >= totalRecords && answer.page >= (totalPages ?? 1)
      : pages !== null && answer.page >= pages;
  const base = {
    parsed,
    order,
    firstOffset,
    lastOffset: firstOffset + answer.rows.length - 1,
    total: totalRecords ?? null,
    pages,
  };
  // Past its end, a list without a count shows nothing, or its last page again.
  const ended =
    ids !== null &&
    before !== null &&
    before.last !== null &&
    base.total === null &&
    pages === null &&
    firstOffset <= before.firstOffset + answer.limit &&
    (ids.length === 0 || (answer.rows.length < answer.limit && ids.at(-1) === before.last && ids[0] === before.first));
  if (ended && before?.interval) {
    const { last } = before;
    const interval: IdSlice =
      orderOf(task.resource) === 'id-asc' ? { by: 'id', from: last, to: null } : { by: 'id', from: null, to: last };
    return { ...base, parsed: lastOf(before), order: orderOf(task.resource), interval, first: last, last };
  }
  if (ids === null || ids.length === 0) {
    const empty = answer.page === 1 && answer.rows.length === 0 && (answer.meta?.totalRecords ?? 0) === 0;
    return { ...base, interval: empty ? { by: 'id', from: null, to: null } : null, first: null, last: null };
  }
  const first = ids[0] as bigint;
  const last = ids.at(-1) as bigint;
  if (order === 'none' || order === 'updated-desc' || !isFull(resource, answer))
    return { ...base, interval: null, first, last };
  const top = answer.page === 1;
  // Pages of a fixed size meet without overlap: while the list keeps its length, nothing lies between two that follow each other.
  const meets =
    neighbour !== null &&
    neighbour.last !== null &&
    base.total !== null &&
    neighbour.total === base.total &&
    neighbour.lastOffset + 1 === firstOffset;
  const start = meets ? (neighbour.last as bigint) + (order === 'id-asc' ? 1n : -1n) : first;
  const interval: IdSlice =
    order === 'id-asc'
      ? { by: 'id', from: top ? null : start, to: end ? null : last }
      : { by: 'id', from: end ? null : last, to: top ? null : start };
  return { ...base, interval, first, last };
}

/** The end of a list follows from its last row, which the answer before showed. */
function lastOf({ parsed, last }: Placed): Placed['parsed'] {
  const isLast = ({ key }: { readonly key: string }) => key === String(last);
  return { ...parsed, rows: parsed.rows.filter(isLast), bad: parsed.bad.filter(isLast) };
}

function idsOf(task: Task, answer: PageAnswer): bigint[] | null {
  const field = task.resource.job.key;
  const ids: bigint[] = [];
  for (const raw of answer.rows) {
    const id = (raw as Record<string, unknown> | null)?.[field];
    if ((typeof id !== 'number' && typeof id !== 'string') || !isId(String(id))) return null;
    ids.push(BigInt(id));
  }
  return ids;
}

/**
 * The order that these ids are in; a single one fits whatever is known. The same row twice in a page is a fault, not an order.
 * No page brings back the trust that another has broken, and a list that was seen in both orders is in neither.
 */
export function orderOfIds(ids: readonly bigint[], known: Order | undefined): Order {
  const steps = ids
    .slice(1)
    .map((id, index) => id - (ids[index] as bigint))
    .filter(step => step !== 0n);
  if (steps.length === 0) return known ?? 'id-desc';
  const shown = steps.every(step => step < 0n) ? 'id-desc' : steps.every(step => step > 0n) ? 'id-asc' : 'none';
  return known === undefined || known === shown ? shown : 'none';
}

/** Not as long as asked for, where nothing tells how long the list is. */
const mayBeLast = (placed: Placed, answer: PageAnswer): boolean =>
  placed.total === null && placed.pages === null && answer.rows.length > 0 && answer.rows.length !== answer.limit;

/** The range begins behind what the answer shows. */
const lacks = ({ last }: Placed, start: bigint | null, descending: boolean): boolean =>
  start !== null && last !== null && (descending ? start < last : start > last);

// Where to ask instead when the answer does not hold the start of the range; null when it does.
async function elsewhere(
  database: Database,
  task: Task,
  placed: Placed,
  start: bigint | null,
  descending: boolean,
): Promise<number | null> {
  const { first, last } = placed;
  if (first === null || last === null)
    return placed.firstOffset > 0 && placed.total !== 0 ? Math.max((placed.total ?? placed.firstOffset) - 1, 0) : null;
  if (start === null) return placed.firstOffset > 0 ? 0 : null;
  const beforeFirst = descending ? start > first : start < first;
  const behindLast = lacks(placed, start, descending);
  const { resource } = task;
  if (beforeFirst && placed.firstOffset > 0) {
    const between = Math.abs(
      (await rankOf(database.kysely, resource.table, first, descending)) -
        (await rankOf(database.kysely, resource.table, start, descending)),
    );
    return Math.max(placed.firstOffset - between - 1, 0);
  }
  if (behindLast && !(placed.total !== null && placed.lastOffset >= placed.total - 1)) {
    const between = Math.abs(
      (await rankOf(database.kysely, resource.table, start, descending)) -
        (await rankOf(database.kysely, resource.table, last, descending)),
    );
    return placed.lastOffset + Math.max(between - 1, 0);
  }
  return null;
}

function covers(placed: Placed, range: IdSlice, descending: boolean): boolean {
  if (!placed.interval) return false;
  const reached = descending ? placed.interval.from : placed.interval.to;
  const end = descending ? range.from : range.to;
  if (reached === null) return true;
  return end !== null && (descending ? reached <= end : reached >= end);
}

function stepOf(task: Task, slice: IdSlice, answer: PageAnswer, placed: Placed, before: PageAnswer | null): Step {
  const { resource } = task;
  const learnt = [...learnFromPage(resource, answer, placed.pages, before)];
  if (placed.order !== undefined && placed.order !== orderOf(resource) && answer.rows.length > 1) {
    learnt.push({
      trait: 'order',
      value: placed.order,
      evidence: `ids ${placed.first} to ${placed.last} on page ${answer.page}`,
    });
  }
  return {
    resource,
    task,
    slice,
    rows: placed.parsed.rows,
    bad: placed.parsed.bad,
    requests: answer.requests,
    release: answer.release,
    learnt,
    total: placed.total,
    end: placed.interval
      ? { kind: 'proven', slice: placed.interval, startedAt: answer.grantedAt }
      : { kind: 'unproven', reason: 'the answer does not tell which ids it covers', startedAt: answer.grantedAt },
  };
}
