import { stampMs } from '../../warehouse/database/stamp.ts';
import type { Row } from '../../warehouse/rows/write-rows.ts';
import { type Monthly, slicingOf } from '../job.ts';
import type { Observation } from '../profile/observation.ts';
import { dayIn, monthBefore } from '../slices/date-windows.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import { noSuchList, orAbsent } from './absent-list.ts';
import type { Reader } from './fetch-page.ts';
import type { Committed, Step } from './step.ts';

/** The reading ends after this many empty months in a row: the source answers for any month. */
const MOST_EMPTY = 12;
/** Twenty years, for sources that have something in every month. */
const MOST_MONTHS = 240;
/** The current month and the last closed one. */
const LEAST_NEWEST = 2;

const ONE_A_MONTH: Observation = {
  trait: 'page size',
  value: '1',
  evidence: 'the source answers for one month at a time',
};

/**
 * Reads monthly sums, one request per month, from the current month backwards. `whole` ends after a year of empty months,
 * `newest` at an unchanged month. Empty months are stored only where an older month is not empty.
 */
export async function* readMonths(
  reader: Reader,
  task: Task,
  slice: Extract<Slice, { by: 'newest' | 'whole' }>,
  time: { now: number; zone: string },
): AsyncGenerator<Step, void, Committed> {
  const { resource } = task;
  const slicing = slicingOf(resource.job, 'month');
  if (!slicing) throw new Error(`${resource.name} has no months`);
  const begun = task.reportOnly || slice.by === 'newest' ? undefined : resource.cursor.readings[sliceText(slice)];
  const newest = dayIn(begun ? stampMs(begun.startedAt) : time.now, time.zone);
  let startedAt = begun?.startedAt ?? null;
  let held: Row[] = [];
  let inARow = 0;
  for (let page = begun?.page ?? 1; ; page++) {
    const { answer, release, given } = await askMonth(reader, task, slice, slicing, monthBefore(newest, page - 1));
    if (answer.kind === 'gone' && page === 1) {
      release();
      throw noSuchList(resource);
    }
    startedAt ??= answer.grantedAt;
    const parsed = answer.kind === 'one' ? resource.parse({ ...answer.record, ...given }, answer.grantedAt) : null;
    const rows = parsed && 'row' in parsed ? [parsed.row] : [];
    const bad = parsed && 'bad' in parsed ? [parsed.bad] : [];
    const empty = bad.length === 0 && rows.every(row => isEmpty(row, given));
    const shown = empty ? [] : [...held, ...rows];
    held = empty ? [...held, ...rows] : [];
    inARow = empty ? inARow + 1 : 0;
    const last = page >= MOST_MONTHS || inARow >= MOST_EMPTY;
    const step: Step = {
      resource,
      task,
      slice,
      rows: shown,
      bad,
      requests: answer.requests,
      release,
      anew: page === 1,
      learnt: resource.profile.pageSize !== null ? [] : [ONE_A_MONTH],
    };
    if (slice.by === 'newest') {
      const { changed } = yield { ...step, end: { kind: 'targeted', complete: false, startedAt } };
      if (last || (page >= LEAST_NEWEST && !empty && changed === 0)) return;
    } else if (last) {
      yield { ...step, end: { kind: 'proven', slice, startedAt } };
      return;
    } else {
      // Held rows are lost with the process, so the next reading starts with the first of them.
      const next = { page: page + 1 - inARow, limit: 1 };
      yield { ...step, position: { ...next, startedAt, totalPages: null, totalRecords: null, before: null } };
    }
  }
}

async function askMonth(reader: Reader, task: Task, slice: Slice, slicing: Monthly, month: string) {
  const { resource } = task;
  const { job, name } = resource;
  const [year = '', number = ''] = month.split('-');
  const named = [year, String(Number(number))] as const;
  const ask = () =>
    reader.client.get(
      job.path,
      { lane: task.lane, purpose: `${name} ${sliceText(slice)}`, runId: task.runId, signal: reader.signal },
      slicing.query(...named),
    );
  const { value: answer, release } = await reader.admit(ask).catch(error => {
    throw orAbsent(resource, error);
  });
  return { answer, release, given: slicing.fields(...named) };
}

const isEmpty = ({ values }: Row, given: Readonly<Record<string, string>>): boolean =>
  Object.entries(values).every(([name, value]) => name in given || value === null || value === '0');
