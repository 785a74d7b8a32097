import type { Database } from '../warehouse/database.ts';
import type { IdSlice } from '../warehouse/slice.ts';
import { rankOf } from '../warehouse/stored.ts';
import { askPage, firstLimit, inOrder, learnFromPage, type PageAnswer, parseRows, type Reader } from './ask.ts';
import { addressFor } from './intervals.ts';
import { type Order, orderOf, pagesOf } from './resource.ts';
import type { Step } from './step.ts';
import type { Task } from './task.ts';

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
  const known = orderOf(resource);
  const descending = known !== 'id-asc';
  const start = descending ? range.to : range.from;
  const sized = reader.pageSize !== 'auto' || resource.traits.has('page size');
  const size = firstLimit(reader, resource);

  // The row before the range is asked for too: it closes the gap to the neighbour's answer.
  let offset =
    start === null || known === undefined
      ? 0
      : Math.max((await rankOf(database.kysely, resource.table, start, descending)) - 1, 0);
  let answer: PageAnswer;
  let placed: Placed;
  for (let correction = 0; ; correction++) {
    const address = sized ? addressFor(offset, size) : { page: Math.floor(offset / size) + 1, limit: size };
    answer = await askPage(reader, task, range, {}, { ...address, flexible: correction === 0 });
    placed = place(task, answer);
    const next =
      correction < MOST_CORRECTIONS && placed.order !== 'none'
        ? await elsewhere(database, task, placed, start, descending)
        : null;
    yield stepOf(task, range, answer, placed);
    if (placed.order === 'none' || placed.interval === null) return;
    if (next === null) break;
    offset = next;
  }

  let reached = placed;
  if (covers(reached, range, descending) || most <= 1) return;
  const rows = Math.max(answer.limit, 1);
  const addresses: { page: number; limit: number }[] = [];
  for (let at = reached.lastOffset; addresses.length < most - 1; ) {
    if (reached.total !== null && at >= reached.total - 1) break;
    const address = addressFor(at, rows);
    addresses.push(address);
    at = address.page * address.limit - 1;
  }
  for await (const further of inOrder(reader, addresses, address =>
    askPage(reader, task, range, {}, { ...address, flexible: false }),
  )) {
    reached = place(task, further);
    yield stepOf(task, range, further, reached);
    if (reached.interval === null || reached.order === 'none' || covers(reached, range, descending)) return;
  }
}

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

function place(task: Task, answer: PageAnswer): Placed {
  const { resource } = task;
  const parsed = parseRows(resource, answer, new Set());
  const pages = pagesOf(answer.meta, answer.page === 1 || answer.rows.length === answer.limit ? answer.rows.length : 0);
  const firstOffset = (answer.page - 1) * answer.limit;
  // Every row's place counts, also of one that does not parse; one without a readable id leaves the interval in doubt.
  const ids = idsOf(task, answer);
  const order = ids === null ? 'none' : orderOfIds(ids, orderOf(resource));
  const end =
    answer.meta?.totalRecords !== undefined
      ? firstOffset + answer.rows.length >= answer.meta.totalRecords
      : pages !== null && answer.page >= pages;
  const base = {
    parsed,
    order,
    firstOffset,
    lastOffset: firstOffset + answer.rows.length - 1,
    total: answer.meta?.totalRecords ?? null,
    pages,
  };
  if (ids === null || ids.length === 0) {
    const empty = answer.page === 1 && answer.rows.length === 0 && (answer.meta?.totalRecords ?? 0) === 0;
    return { ...base, interval: empty ? { by: 'id', from: null, to: null } : null, first: null, last: null };
  }
  const first = ids[0] as bigint;
  const last = ids.at(-1) as bigint;
  if (order === 'none' || order === 'updated-desc') return { ...base, interval: null, first, last };
  const top = answer.page === 1;
  const interval: IdSlice =
    order === 'id-asc'
      ? { by: 'id', from: top ? null : first, to: end ? null : last }
      : { by: 'id', from: end ? null : last, to: top ? null : first };
  return { ...base, interval, first, last };
}

function idsOf(task: Task, answer: PageAnswer): bigint[] | null {
  const field = task.resource.job.key;
  const ids: bigint[] = [];
  for (const raw of answer.rows) {
    const id = (raw as Record<string, unknown> | null)?.[field];
    if ((typeof id !== 'number' && typeof id !== 'string') || !/^\d+$/.test(String(id))) return null;
    ids.push(BigInt(id));
  }
  return ids;
}

/** The order that these ids are in; a single one fits whatever is known. The same row twice in a page is a fault, not an order. */
export function orderOfIds(ids: readonly bigint[], known: Order | undefined): Order {
  const steps = ids
    .slice(1)
    .map((id, index) => id - (ids[index] as bigint))
    .filter(step => step !== 0n);
  if (steps.length === 0) return known ?? 'id-desc';
  if (steps.every(step => step < 0n)) return 'id-desc';
  if (steps.every(step => step > 0n)) return 'id-asc';
  return 'none';
}

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
  const behindLast = descending ? start < last : start > last;
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

function stepOf(task: Task, slice: IdSlice, answer: PageAnswer, placed: Placed): Step {
  const { resource } = task;
  const learnt = [...learnFromPage(resource, answer, placed.pages)];
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
