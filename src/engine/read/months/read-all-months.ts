import { stampMs } from '../../../clock.ts';
import type { Row } from '../../../warehouse/rows/write/row.ts';
import { dayIn, monthBefore } from '../../slices/date-windows.ts';
import { type Slice, sliceText } from '../../slices/slice.ts';
import type { Task } from '../../task/task.ts';
import { noSuchList } from '../fetch/absent-list.ts';
import { fetchInOrder } from '../fetch/fetch-in-order.ts';
import type { Reader } from '../fetch/fetch-page.ts';
import type { Committed, Step } from '../step.ts';
import { askMonth } from './ask-month.ts';
import { askedEntry, MOST_EMPTY, MOST_MONTHS, type MonthFacts } from './choose-months.ts';

/**
 * Reads the sums of all months, one request for each, from the current month backwards. It ends after a year of empty months, so that
 * many are asked for ahead of the answers. Empty months are stored only where an older month is not empty.
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
  let emptyRows: Row[] = [];
  let inARow = 0;
  let facts: MonthFacts | null = null;
  const first = begun?.page ?? 1;
  let page = first;
  let asked = first;
  // The first answer is committed before others are asked for: what is known of the months is gathered then.
  const next = () => {
    const most = facts ? Math.min(page - inARow - 1 + MOST_EMPTY, MOST_MONTHS) : first;
    return asked <= most ? monthBefore(today, asked++ - 1) : undefined;
  };
  const ask = (month: string) => askMonth(reader, task, slice, month);
  for await (const { isGone, isEmpty, rows, grantedAt, month, release, step } of fetchInOrder(reader, next, ask)) {
    if (isGone && page === 1) {
      release();
      throw noSuchList(resource);
    }
    startedAt ??= grantedAt;
    const beside = facts ? [askedEntry(month, facts)] : [];
    const shown = {
      ...step,
      beside,
      rows: isEmpty ? [] : [...emptyRows, ...rows],
      anew: page === 1,
      isAwaited: facts === null,
    };
    emptyRows = isEmpty ? [...emptyRows, ...rows] : [];
    inARow = isEmpty ? inARow + 1 : 0;
    if (page >= MOST_MONTHS || inARow >= MOST_EMPTY) {
      yield { ...shown, end: { kind: 'proven', slice, startedAt } };
      return;
    }
    // Rows of empty months are lost with the process, so the next reading starts with the first of them.
    page++;
    const position = { page: page - inARow, limit: 1 };
    yield {
      ...shown,
      position: {
        ...position,
        startedAt,
        totalPages: null,
        totalRecords: null,
        steady: true,
        before: null,
        last: null,
      },
    };
    // Once the first answer is committed, so is what was read of the other lists before it: transactions follow each other.
    facts ??= await known();
  }
}
