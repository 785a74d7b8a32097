import { stampMs } from '../../../warehouse/database/stamp.ts';
import type { Row } from '../../../warehouse/rows/write-rows.ts';
import { dayIn, monthBefore } from '../../slices/date-windows.ts';
import { type Slice, sliceText } from '../../slices/slice.ts';
import type { Task } from '../../task/task.ts';
import { noSuchList } from '../absent-list.ts';
import type { Reader } from '../fetch-page.ts';
import type { Committed, Step } from '../step.ts';
import { askMonth } from './ask-month.ts';
import { askedEntry, MOST_EMPTY, MOST_MONTHS, type MonthFacts } from './choose-months.ts';

/**
 * Reads the sums of all months, one request for each, from the current month backwards. It ends after a year of empty months. Empty
 * months are stored only where an older month is not empty.
 */
export async function* readAllMonths(
  reader: Reader,
  task: Task,
  slice: Extract<Slice, { by: 'whole' }>,
  time: { now: number; zone: string },
  known: () => Promise<MonthFacts>,
): AsyncGenerator<Step, void, Committed> {
  const { resource } = task;
  const begun = task.reportOnly ? undefined : resource.cursor.readings[sliceText(slice)];
  const today = dayIn(begun ? stampMs(begun.startedAt) : time.now, time.zone);
  let startedAt = begun?.startedAt ?? null;
  let held: Row[] = [];
  let inARow = 0;
  let facts: MonthFacts | null = null;
  for (let page = begun?.page ?? 1; ; page++) {
    const month = monthBefore(today, page - 1);
    const { isGone, isEmpty, rows, grantedAt, step } = await askMonth(reader, task, slice, month);
    if (isGone && page === 1) {
      step.release();
      throw noSuchList(resource);
    }
    startedAt ??= grantedAt;
    const beside = facts ? [askedEntry(month, facts)] : [];
    const shown = { ...step, beside, rows: isEmpty ? [] : [...held, ...rows], anew: page === 1 };
    held = isEmpty ? [...held, ...rows] : [];
    inARow = isEmpty ? inARow + 1 : 0;
    if (page >= MOST_MONTHS || inARow >= MOST_EMPTY) {
      yield { ...shown, end: { kind: 'proven', slice, startedAt } };
      return;
    }
    // Held rows are lost with the process, so the next reading starts with the first of them.
    const next = { page: page + 1 - inARow, limit: 1 };
    yield { ...shown, position: { ...next, startedAt, totalPages: null, totalRecords: null, before: null } };
    // Once the first answer is committed, so is what was read of the other lists before it: transactions follow each other.
    facts ??= await known();
  }
}
