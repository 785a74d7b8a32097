import { isKind, SluiceError } from '../../errors.ts';
import { type Client, isTimeout, type Meta } from '../../source/client.ts';
import type { BadRecord } from '../../warehouse/rows/quarantine.ts';
import type { Row } from '../../warehouse/rows/write-rows.ts';
import { groupBy } from '../group-by.ts';
import { holdsRows, isContentKeyed, isOffered, isPageless, pageSize, partition, type Resource } from '../resource.ts';
import type { Task } from '../run/task.ts';
import { within } from '../slices/date-windows.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import type { Step } from './step.ts';

/** What readings need of the loop that runs them. */
export interface Reader {
  readonly client: Client;
  /** Rows to ask for per page: `auto` finds out what the source returns. */
  readonly pageSize: number | 'auto';
  /** Answers asked for ahead of the one being committed. */
  readonly ahead: number;
  readonly signal: AbortSignal;
  /** Runs `ask` once few enough answers wait to be committed; the answer counts among them until it is released. */
  readonly admit: <T>(ask: () => Promise<T>) => Promise<{ value: T; release: () => void }>;
}

export interface PageAnswer {
  readonly rows: readonly unknown[];
  readonly meta: Meta | undefined;
  readonly grantedAt: string;
  readonly requests: number;
  readonly limit: number;
  readonly page: number;
  /** More rows a page were asked for, and refused. */
  readonly refused?: boolean;
  readonly release: () => void;
}

/** Sizes to come down by where a source refuses what it is asked for, or takes too long over it. */
const SIZES = [1000, 500, 250, 100, 50, 20];

/** Row counts at which sources are known to cap an answer in silence. */
const CAPS = [20, 50, 100, 200, 250, 500, 1000, 2500];

/** So many rows of one answer may come twice. */
const MOST_TWICE = 5;

type Learnt = NonNullable<Step['learnt']>;

/**
 * As many rows as were asked for, or as sources are known to stop at, unless this one was seen to go on, and no more are stored of
 * what was asked for: a source may come to stop sooner.
 */
export function mayBeCut(resource: Resource, answer: PageAnswer, slice: Slice): boolean {
  const shown = distinctRows(answer);
  if (shown === answer.limit && resource.traits.get('more than asked') !== 'yes') return true;
  return CAPS.includes(shown) && (shown > goesBeyond(resource) || shown < rowsKnownOf(resource, slice));
}

/** The rows as texts, each once. */
const textsOf = (rows: PageAnswer['rows']): Set<string> => new Set(rows.map(row => JSON.stringify(row)));

const hasMoreThan = (known: number, { rows }: PageAnswer): boolean => rows.length > known && textsOf(rows).size > known;

/** A row that comes twice must not make a full answer look like one that goes beyond. Only near a cap it is worth the look. */
function distinctRows({ rows, limit }: PageAnswer): number {
  const near = [limit, ...CAPS].some(cap => rows.length > cap && rows.length <= cap + MOST_TWICE);
  return near ? textsOf(rows).size : rows.length;
}

/** Rows that the slice had when it was last read, as far as the windows in it tell. */
function rowsKnownOf(resource: Resource, slice: Slice): number {
  if (slice.by !== 'date') return 0;
  const parts = partition(resource).filter(
    ({ slice: part }) => part.by === 'date' && within(part, slice.from, slice.to),
  );
  return parts.reduce((sum, entry) => sum + (entry.rows ?? 0), 0);
}

/** The greatest of the usual caps that an answer of this list was longer than. */
const goesBeyond = (resource: Resource): number => Number(resource.traits.get('goes beyond') ?? 0);

/** Rows to ask for at the start of a reading. */
export function firstLimit(reader: Reader, resource: Resource): number {
  if (reader.pageSize !== 'auto') return reader.pageSize;
  const size = pageSize(resource, SIZES[0]);
  // One answer is all there is: only a size that was refused is a reason to ask for less.
  return isPageless(resource) ? (SIZES.find(each => each <= size) ?? size) : size;
}

/** One page of the list. `limit` may come down when `flexible`, which only the first page of a reading is. */
export async function askPage(
  reader: Reader,
  task: Task,
  slice: Slice,
  query: Readonly<Record<string, string>>,
  ask: { page: number; limit: number; flexible: boolean },
): Promise<PageAnswer> {
  const { resource } = task;
  let refused = false;
  let patient = false;
  for (let limit = ask.limit; ; ) {
    const smaller = ask.flexible ? SIZES.find(size => size < limit) : undefined;
    // Where a smaller page may help, that is tried before patience is.
    const hasty = smaller !== undefined && limit > 100 && !patient;
    try {
      const { value: answer, release } = await reader.admit(() =>
        reader.client.list(
          resource.job.path,
          query,
          { page: ask.page, limit },
          {
            lane: task.lane,
            purpose: `${resource.name} ${sliceText(slice)}`,
            runId: task.runId,
            signal: reader.signal,
            ...(hasty ? { attempts: 2 } : {}),
          },
        ),
      );
      const { grantedAt, requests } = answer;
      const page = { grantedAt, requests, limit, page: ask.page, refused, release };
      if (answer.kind === 'rows') return { ...page, rows: answer.rows, meta: answer.meta };
      // Past the end of a list, or of what a filter shows of it, there may be nothing. The list itself is there.
      if (ask.page > 1 || Object.keys(query).length > 0) return { ...page, rows: [], meta: undefined };
      release();
      throw noSuchList(resource);
    } catch (cause) {
      const error = orAbsent(resource, cause);
      const tooLarge = isKind(error, 'refused') || (isTimeout(error) && limit > 100);
      if (smaller !== undefined && tooLarge) {
        refused = isKind(error, 'refused');
        limit = smaller;
      } else if (hasty && isKind(error, 'unavailable')) {
        // An outage says nothing of the size: the same page again, with all the patience there is.
        patient = true;
      } else throw error;
    }
  }
}

/** What a list that is not there is answered with, or one that this key may not see. */
const NOT_THERE: ReadonlySet<number | undefined> = new Set([403, 404, 405]);

/** A list that need not be there, and never was, is absent; any other has to be. */
export const noSuchList = (resource: Resource): SluiceError =>
  isOffered(resource)
    ? new SluiceError('failed', `The source has no ${resource.job.path}.`, {
        next: 'Check the address in SOURCE_URL, and whether this installation offers the list.',
      })
    : new SluiceError('absent', `The source does not offer ${resource.job.path}.`);

/** What the source refuses because it does not offer it. */
export const orAbsent = (resource: Resource, error: unknown): unknown =>
  !isOffered(resource) && isKind(error, 'refused', 'unauthorized') && NOT_THERE.has(error.status)
    ? noSuchList(resource)
    : error;

/**
 * False when the page shows fewer rows than its own count says it has: whoever drops rows from a page says nothing of what is gone.
 */
export function isFull(resource: Resource, { rows, meta, page, limit }: PageAnswer): boolean {
  const { totalPages, totalRecords } = meta ?? {};
  if (totalPages === undefined || totalRecords === undefined) return true;
  if (page < totalPages) return rows.length * totalPages >= totalRecords;
  // The last page holds what the others leave over. They hold what was asked for, or what the source keeps to.
  const sizes = [limit, pageSize(resource, limit)];
  const fitting = sizes.filter(size => totalPages === Math.ceil(totalRecords / size));
  if (fitting.length === 0 || page > totalPages) return true;
  return fitting.some(size => rows.length >= totalRecords - (page - 1) * size);
}

/**
 * The first page of a reading. One that is empty where rows are stored is asked for once more: an answer that lost its rows is
 * likelier than rows that all went at once.
 */
export async function askFirst(
  reader: Reader,
  task: Task,
  slice: Slice,
  query: Readonly<Record<string, string>>,
  limit: number,
): Promise<PageAnswer> {
  const ask = (size: number) => askPage(reader, task, slice, query, { page: 1, limit: size, flexible: true });
  const answer = await ask(limit);
  return holdsRows(task.resource, slice) ? orAgain(answer, () => ask(answer.limit)) : answer;
}

/** Where nothing counts the pages, an empty one behind a full one would end the list: it is asked for once more. */
export async function sureOfEnd(
  resource: Resource,
  before: PageAnswer | null,
  answer: PageAnswer,
  ask: () => Promise<PageAnswer>,
): Promise<PageAnswer> {
  if (before === null || before.meta !== undefined) return answer;
  const full = before.rows.length >= Math.min(before.limit, pageSize(resource, before.limit));
  return full ? orAgain(answer, ask) : answer;
}

async function orAgain(answer: PageAnswer, ask: () => Promise<PageAnswer>): Promise<PageAnswer> {
  if (answer.rows.length > 0) return answer;
  answer.release();
  const again = await ask();
  return { ...again, requests: answer.requests + again.requests };
}

/**
 * What one page shows of the source's habits, where that is not known yet or known otherwise. `before`: the page in front of it,
 * which this one proves not to have been the last, whatever was said about a count.
 */
export function learnFromPage(
  resource: Resource,
  answer: PageAnswer,
  pages: number | null,
  before: PageAnswer | null = null,
): Learnt {
  const learnt = [...learnKeys(resource, answer), ...learnCap(resource, answer)];
  const counted = answer.meta?.totalPages !== undefined;
  const turned = !counted && before !== null && turns(resource, before, answer) ? before : null;
  if (turned !== null && !resource.traits.has('paging')) learnt.push(UNTIL_EMPTY);
  // Without a count, a page was full when the very next one came behind it. What is longer is no next page: the short one before was
  // the last, and the one that is now the last came in its stead.
  const isNext = answer.page - 1 === turned?.page && answer.limit === turned.limit;
  const fullByNext = isNext && answer.rows.length <= turned.rows.length ? turned : null;
  const full =
    pages !== null && pages > answer.page && answer.page === 1 && isFull(resource, answer) ? answer : fullByNext;
  const own = fullByNext !== null && fullByNext.rows.length > fullByNext.limit ? fullByNext : answer;
  if (resource.traits.get('limit') !== 'ignored' && (own === fullByNext || keepsOwnSize(resource, own))) {
    const told = own.meta?.totalPages === undefined ? '' : `, ${own.meta.totalPages} pages in all`;
    const evidence = `asked for ${own.limit} rows on page ${own.page}, got ${own.rows.length}${told}`;
    learnt.push({ trait: 'limit', value: 'ignored', evidence });
  }
  if (answer.refused && !resource.traits.has('page size')) {
    const evidence = `${answer.limit} rows are the most it takes being asked for`;
    learnt.push({ trait: 'page size', value: String(answer.limit), evidence });
    return learnt;
  }
  const known = resource.traits.get('page size');
  // Longer than what was thought to be the most: the page that showed that had lost rows. One that comes twice makes none longer.
  const longer = answer.rows.length <= answer.limit && hasMoreThan(Number(known), answer);
  const shown = longer ? answer : full;
  // Pages of one row could not overlap.
  if (shown === null || shown.rows.length < 2) return learnt;
  const { limit } = shown;
  const size = shown.rows.length;
  // A page as long as asked for shows no maximum, unless more was asked for than ever before.
  if (String(size) !== known && !(size === limit && Number(known) > size)) {
    learnt.push({
      trait: 'page size',
      value: String(size),
      evidence: `asked for ${limit} rows, got ${size}${longer ? '' : ' with more to come'}`,
    });
  }
  return learnt;
}

export const UNTIL_EMPTY = {
  trait: 'paging',
  value: 'until empty',
  evidence: 'pages follow each other without a count',
};

/** A page that comes again whatever page is asked for. */
export const pagingIgnored = (answer: PageAnswer, before = 1): Learnt[number] => ({
  trait: 'paging',
  value: 'ignored',
  evidence: `page ${answer.page} repeated the ${answer.rows.length} rows of page ${before}`,
});

/**
 * A later page, and for the most part other rows: some come again where rows were inserted in front of them, and all where a source
 * answers so past the end.
 */
export function turns({ job }: Resource, before: PageAnswer, { page, rows }: PageAnswer): boolean {
  // An edited row is the same row.
  const nameOf = (row: unknown) => String((row as Record<string, unknown> | null)?.[job.key] ?? JSON.stringify(row));
  const shown = new Set(before.rows.map(nameOf));
  return page > before.page && 2 * rows.filter(row => !shown.has(nameOf(row))).length > rows.length;
}

type Learning = { trait: string; value: string; evidence: string }[];

// Rows stored under an id and rows stored under their content cannot be matched with each other.
function learnKeys(resource: Resource, answer: PageAnswer): Learning {
  if (!isContentKeyed(resource.table)) return [];
  // What is no record at all says nothing, and one row does not speak for the others.
  const records = answer.rows.filter(row => typeof row === 'object' && row !== null && !Array.isArray(row));
  const bare = records.filter(row => (row as Record<string, unknown>)[resource.job.key] == null).length;
  if (records.length === 0) return [];
  const value = 2 * bare > records.length ? 'no' : 'yes';
  const known = resource.traits.get('ids');
  if (known === undefined) {
    return [{ trait: 'ids', value, evidence: `${bare} of ${records.length} rows came without "${resource.job.key}"` }];
  }
  if (known === value) return [];
  const change = value === 'no' ? 'no longer carry' : 'now carry';
  throw new SluiceError(
    'failed',
    `The rows of ${resource.name} ${change} the field "${resource.job.key}", so they cannot be matched with those stored.`,
    {
      next: `To read the list anew: sluice reset ${resource.name}, then sluice sync ${resource.name}`,
    },
  );
}

// Only what comes without a count can be cut in silence.
function learnCap(resource: Resource, answer: PageAnswer): Learning {
  const { meta, limit } = answer;
  if (meta !== undefined) return [];
  const learnt: Learning = [];
  const shown = distinctRows(answer);
  if (shown > limit && !resource.traits.has('more than asked'))
    learnt.push({ trait: 'more than asked', value: 'yes', evidence: `asked for ${limit} rows, got ${shown}` });
  const below = CAPS.findLast(cap => cap < shown);
  if (below !== undefined && below > goesBeyond(resource))
    learnt.push({ trait: 'goes beyond', value: String(below), evidence: `an answer held ${shown} rows` });
  return learnt;
}

// Asked for less than it returns, a source that keeps to its own size returns more, counts its pages by another size, or leaves
// over for the last page what another size leaves.
function keepsOwnSize(resource: Resource, { meta, rows, page, limit }: PageAnswer): boolean {
  // The first page may be the whole body of a list that does not turn any.
  const isPart = page > 1 || resource.traits.get('paging') === 'until empty';
  if (isPart && rows.length > limit) return true;
  const { totalPages, totalRecords } = meta ?? {};
  const size = Number(resource.traits.get('page size') ?? 0);
  if (totalPages === undefined || totalRecords === undefined || limit >= size) return false;
  const fits = (each: number) =>
    totalPages === Math.ceil(totalRecords / each) &&
    (page === 1 || page !== totalPages || rows.length === totalRecords - (page - 1) * each);
  return !fits(limit) && fits(size);
}

/** Parses an answer's rows. Rows without an id are told apart inside the reading by counting equals: `seen` holds the keys so far. */
export function parseRows(
  resource: Resource,
  answer: PageAnswer,
  seen: { has(key: string): boolean },
): { rows: Row[]; bad: BadRecord[]; keys: string[] } {
  const rows: Row[] = [];
  const bad: BadRecord[] = [];
  const bare: Row[] = [];
  for (const raw of answer.rows) {
    const parsed = resource.parse(raw, answer.grantedAt);
    if ('bad' in parsed) bad.push(parsed.bad);
    else if (parsed.row.key.startsWith('#')) bare.push(parsed.row);
    else rows.push(parsed.row);
  }
  const here = new Set(rows.map(row => row.key));
  for (const [content, group] of groupBy(bare, row => row.key)) {
    let ordinal = 1;
    // By what else they hold, so that each is the same row again in whatever order they come.
    for (const row of group.sort((a, b) => compareTexts(a.extra ?? '', b.extra ?? ''))) {
      while (seen.has(`${content}/${ordinal}`) || here.has(`${content}/${ordinal}`)) ordinal++;
      here.add(`${content}/${ordinal}`);
      rows.push({ ...row, key: `${content}/${ordinal}` });
    }
  }
  for (const record of bad) here.add(record.key);
  return { rows, bad, keys: [...here] };
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Asks for pages `ahead` at a time, and yields the answers in order. What was asked for and not used is released. */
export async function* inOrder<T>(
  reader: Reader,
  items: readonly T[],
  ask: (item: T) => Promise<PageAnswer>,
): AsyncGenerator<PageAnswer> {
  const running: Promise<PageAnswer>[] = [];
  let next = 0;
  const fill = () => {
    while (running.length < reader.ahead && next < items.length) {
      const answer = ask(items[next++] as T);
      // A failure is met when its turn comes; until then it must not count as unhandled.
      answer.catch(() => undefined);
      running.push(answer);
    }
  };
  try {
    for (fill(); running.length > 0; fill()) yield await (running.shift() as Promise<PageAnswer>);
  } finally {
    for (const answer of running) answer.then(unused => unused.release()).catch(() => undefined);
  }
}
