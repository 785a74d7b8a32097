import { stampMs } from '../../warehouse/database/stamp.ts';
import { slicingOf } from '../job.ts';
import { isPageless, type Order, orderOf, pagesOf } from '../resource.ts';
import type { Task } from '../run/task.ts';
import { isId } from '../slices/id-ranges.ts';
import type { Slice } from '../slices/slice.ts';
import { askPage, firstLimit, learnFromPage, mayBeCut, type PageAnswer, parseRows, type Reader } from './fetch-page.ts';
import { orderOfIds } from './read-ids.ts';
import type { Committed, Step } from './step.ts';

/**
 * Reads the unfiltered list from its newest end until a page brings no news. It shows what was added at any date, and how many
 * rows the list has; it proves nothing. What order the list is in is learnt here.
 */
export async function* readNewest(reader: Reader, task: Task, most: number): AsyncGenerator<Step, void, Committed> {
  const { resource } = task;
  const slice: Slice = { by: 'newest' };
  let limit = firstLimit(reader, resource);
  // An ascending list has its newest rows on the last page; the first guess is corrected by what comes.
  let page =
    orderOf(resource) === 'id-asc' && resource.total != null ? Math.max(Math.ceil(resource.total / limit), 1) : 1;
  let startedAt: string | null = null;
  let before: PageAnswer | null = null;
  for (let read = 1; ; read++) {
    const answer = await askPage(reader, task, slice, {}, { page, limit, flexible: read === 1 });
    limit = answer.limit;
    startedAt ??= answer.grantedAt;
    const pages = pagesOf(answer.meta, page === 1 ? answer.rows.length : 0);
    const order = orderOf(resource) ?? orderOfRows(task, answer);
    const next = order === 'id-asc' ? (read === 1 && pages !== null && pages > page ? pages : page - 1) : page + 1;
    const ordered = order !== 'none' && order !== undefined;
    const last = !ordered || read >= most || next < 1 || (pages !== null && next > pages) || answer.rows.length === 0;
    const { rows, bad } = parseRows(resource, answer, new Set());
    const learnt = [
      ...learnFromPage(resource, answer, pages, next > page ? before : null),
      ...learnOrder(task, answer),
      ...learnWhetherCut(task, answer),
    ];
    const step: Step = {
      resource,
      task,
      slice,
      rows: rows.map(row => (row.key.startsWith('#') ? { ...row, onlyIfNew: true } : row)),
      bad,
      requests: answer.requests,
      release: answer.release,
      learnt,
      total: answer.meta?.totalRecords ?? null,
      end: { kind: 'targeted', complete: false, startedAt },
    };
    const news = (yield step).changed > 0;
    // The first page of an ascending list is its oldest: it says nothing of news.
    const oldEnd = order === 'id-asc' && read === 1 && next > page;
    if (last || !(news || oldEnd)) return;
    page = next;
    before = answer;
  }
}

/** Asks for one row by its key: 404 proves that it is gone. */
export async function* readOne(reader: Reader, task: Task, slice: Extract<Slice, { by: 'one' }>): AsyncGenerator<Step> {
  const { resource } = task;
  const slicing = slicingOf(resource.job, 'one');
  if (!slicing) throw new Error(`${resource.name} has no way to ask for one row`);
  const { value: answer, release } = await reader.admit(() =>
    reader.client.get(slicing.path.replace('{key}', encodeURIComponent(slice.key)), {
      lane: task.lane,
      purpose: `${resource.name} one ${slice.key}`,
      runId: task.runId,
      signal: reader.signal,
    }),
  );
  const step = { resource, task, slice, requests: answer.requests, release };
  if (answer.kind === 'gone') {
    yield { ...step, rows: [], bad: [], end: { kind: 'gone', key: slice.key, at: answer.grantedAt } };
    return;
  }
  const parsed = resource.parse(answer.record, answer.grantedAt);
  const end = { kind: 'targeted', complete: true, startedAt: answer.grantedAt } as const;
  yield 'row' in parsed ? { ...step, rows: [parsed.row], bad: [], end } : { ...step, rows: [], bad: [parsed.bad], end };
}

function orderOfRows(task: Task, answer: PageAnswer): Order | undefined {
  const records = answer.rows as Record<string, unknown>[];
  if (records.length < 3) return undefined;
  const ids = records.map(record => String(record?.[task.resource.job.key] ?? ''));
  if (ids.every(isId)) {
    const order = orderOfIds(ids.map(BigInt), orderOf(task.resource));
    if (order !== 'none') return order;
  }
  const stamps = records.map(record =>
    typeof record?.updated_at === 'string' ? stampMs(record.updated_at) : Number.NaN,
  );
  const falling = stamps.every((stamp, index) => index === 0 || stamp <= (stamps[index - 1] as number));
  return falling ? 'updated-desc' : 'none';
}

/** Where pages are not turned, whether the one answer is the whole list. */
function learnWhetherCut({ resource }: Task, answer: PageAnswer): NonNullable<Step['learnt']> {
  if (!isPageless(resource)) return [];
  const value = mayBeCut(resource, answer, { by: 'newest' }) ? 'cut' : 'complete';
  if (resource.traits.get('one answer') === value) return [];
  return [{ trait: 'one answer', value, evidence: `the unfiltered list showed ${answer.rows.length} rows` }];
}

function learnOrder(task: Task, answer: PageAnswer): NonNullable<Step['learnt']> {
  const known = orderOf(task.resource);
  const order = orderOfRows(task, answer);
  if (order === undefined || order === known) return [];
  return [
    {
      trait: 'order',
      value: order,
      evidence: `${answer.rows.length} rows on page ${answer.page} of the unfiltered list`,
    },
  ];
}
