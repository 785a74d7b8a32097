import { isKind } from '../../errors.ts';
import type { Observation } from '../profile/observation.ts';
import type { Slice } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import { fetchPage, firstLimit, type Reader } from './fetch/fetch-page.ts';
import { askForWindow } from './plan-window.ts';
import { readNewest } from './read-newest.ts';
import type { Committed, Step } from './step.ts';

/** Two windows of all time, which meet before the rows of any business: it does not matter whether a source includes both edges. */
const ALL_TIME = [
  { by: 'date', from: null, to: '1949-12-31' },
  { by: 'date', from: '1950-01-01', to: null },
] as const;

/**
 * Counts the list and reads its newest end once more. If its windows together are counted with as many rows as the list, just before and just
 * after, the date filter leaves none out: neither drafts nor rows without a date. If with fewer, it does.
 */
export async function* readCount(reader: Reader, task: Task): AsyncGenerator<Step, void, Committed> {
  const { dates, profile, strategy } = task.resource;
  const limit = firstLimit(reader, task.resource);
  let requests = 0;
  const count = async (slice: Slice, query: Readonly<Record<string, string>>): Promise<number | undefined> => {
    const answer = await fetchPage({ reader, task, slice, query }, { page: 1, limit, flexible: true });
    answer.release();
    requests += answer.requests;
    return answer.meta?.totalRecords ?? (answer.rows.length === 0 ? 0 : undefined);
  };
  const countWindows = async (): Promise<number | undefined> => {
    let sum = 0;
    for (const window of ALL_TIME) {
      const counted = await count(window, askForWindow(task, window).query);
      if (counted === undefined) return undefined;
      sum += counted;
    }
    return sum;
  };
  const hasWindows = dates !== undefined && strategy.partition === 'date';
  const before = hasWindows && profile.counts === null ? await count({ by: 'newest' }, {}) : undefined;
  const inWindows = before === undefined ? undefined : await countWindows().catch(unlessRefused);
  // New rows may have begun another page at the end of an ascending list.
  const reading = readNewest(reader, task, profile.order === 'id-asc' ? 2 : 1);
  for (let next = await reading.next(); !next.done; ) {
    const step = next.value;
    const isComparable = before !== undefined && inWindows !== undefined && before === step.total;
    next = await reading.next(
      yield {
        ...step,
        requests: step.requests + requests,
        windowsHoldAll: isComparable && before === inWindows,
        learnt: [...(step.learnt ?? []), ...(isComparable && inWindows < before ? [leavesOut(before, inWindows)] : [])],
      },
    );
  }
}

const leavesOut = (inList: number, inWindows: number): Observation => ({
  trait: 'left out',
  value: 'yes',
  evidence: `the list counts ${inList} rows, its date windows ${inWindows}`,
});

/** A source may refuse windows so long. */
function unlessRefused(error: unknown): undefined {
  if (!isKind(error, 'refused')) throw error;
}
