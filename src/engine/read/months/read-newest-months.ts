import type { Row } from '../../../warehouse/rows/write/row.ts';
import { type Day, dayIn, monthBefore } from '../../slices/date-windows.ts';
import type { Slice } from '../../slices/slice.ts';
import type { Task } from '../../task/task.ts';
import { noSuchList } from '../fetch/absent-list.ts';
import type { Reader } from '../fetch/fetch-page.ts';
import type { Committed, Step } from '../step.ts';
import { askMonth, monthKey } from './ask-month.ts';
import { askedEntry, MOST_EMPTY, MOST_MONTHS, type MonthFacts, monthsToRead } from './choose-months.ts';

/** The current month and the last closed one. */
const LEAST_NEWEST = 2;

/**
 * Reads the sums of the newest months, until one has not changed, and then those of the past months whose rows have changed since
 * they were read.
 */
export async function* readNewestMonths(
  reader: Reader,
  task: Task,
  slice: Extract<Slice, { by: 'newest' }>,
  time: { now: number; zone: string },
  known: () => Promise<MonthFacts>,
): AsyncGenerator<Step, void, Committed> {
  const { resource } = task;
  const today = dayIn(time.now, time.zone);
  const read = new Set<string>();
  let facts: MonthFacts | null = null;
  let startedAt: string | null = null;
  // An empty month is stored only once an older one has rows.
  let emptyRows: Row[] = [];
  for (let inARow = 0, more = true; more && inARow < MOST_EMPTY && read.size < MOST_MONTHS; ) {
    const month = monthBefore(today, read.size);
    const { isGone, isEmpty, rows, grantedAt, step } = await askMonth(reader, task, slice, month);
    if (isGone && startedAt === null) {
      step.release();
      throw noSuchList(resource);
    }
    startedAt ??= grantedAt;
    read.add(month);
    const beside = facts ? [askedEntry(month, facts)] : [];
    const { changed } = yield {
      ...step,
      beside,
      rows: isEmpty ? [] : [...emptyRows, ...rows],
      anew: read.size === 1,
      isAwaited: true,
    };
    // Once the first answer is committed, so is what was read of the other lists before it: transactions follow each other.
    facts ??= await known();
    emptyRows = isEmpty ? [...emptyRows, ...rows] : [];
    inARow = isEmpty ? inARow + 1 : 0;
    more = read.size < LEAST_NEWEST || isEmpty || changed > 0;
  }
  yield* readChanged(reader, task, slice, { today, read, emptyRows, facts: facts as MonthFacts });
  const nothing = { rows: [], bad: [], requests: 0, release: () => undefined };
  yield {
    ...{ resource, task, slice, ...nothing },
    end: { kind: 'targeted', complete: false, startedAt: startedAt as string },
  };
}

/** Reads the past months whose rows have changed since they were asked for. */
async function* readChanged(
  reader: Reader,
  task: Task,
  slice: Slice,
  so: { today: Day; read: ReadonlySet<string>; emptyRows: readonly Row[]; facts: MonthFacts },
): AsyncGenerator<Step, void, Committed> {
  const { today, read, facts } = so;
  let { emptyRows } = so;
  const isStored = (month: string) => facts.keys.has(monthKey(task, month));
  for (const month of monthsToRead(today, facts, isStored)) {
    if (read.has(month)) continue;
    const { isEmpty, rows, step } = await askMonth(reader, task, slice, month);
    const waits = isEmpty && !isStored(month);
    yield { ...step, beside: [askedEntry(month, facts)], rows: waits ? [] : [...emptyRows, ...rows] };
    emptyRows = waits ? [...emptyRows, ...rows] : [];
  }
}
