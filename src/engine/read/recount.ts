import { isKind } from '../../errors.ts';
import { NEWEST, OLDEST, wholeTime } from '../slices/date-windows.ts';
import type { Task } from '../task/task.ts';
import { fetchPage, firstLimit, type Reader } from './fetch-page.ts';
import { readNewest } from './read-newest.ts';
import type { Committed, Step } from './step.ts';

/** Two windows of all time meet here, before the rows of any business: it does not matter whether a source includes both edges. */
const [LAST, FIRST] = ['1949-12-31', '1950-01-01'];

/**
 * Counts the list and reads its newest end once more. If its windows together are counted with as many rows as the list, just before and just
 * after, the date filter leaves none out: neither drafts nor rows without a date.
 */
export async function* recount(reader: Reader, task: Task): AsyncGenerator<Step, void, Committed> {
  const { resource } = task;
  const { dates, profile, strategy } = resource;
  const closed = strategy.closesWindows;
  const limit = firstLimit(reader, resource);
  let requests = 0;
  const count = async (query: Readonly<Record<string, string>>): Promise<number | undefined> => {
    const slice = Object.keys(query).length > 0 ? wholeTime : ({ by: 'newest' } as const);
    const answer = await fetchPage({ reader, task, slice, query }, { page: 1, limit, flexible: true });
    answer.release();
    requests += answer.requests;
    return answer.meta?.totalRecords ?? (answer.rows.length === 0 ? 0 : undefined);
  };
  const inWindows = async (): Promise<number | undefined> => {
    let sum = 0;
    for (const [from, to] of [
      [closed ? OLDEST : null, LAST],
      [FIRST, closed ? NEWEST : null],
    ] as const) {
      const counted = await count({
        ...(dates && from && { [dates.from]: from }),
        ...(dates && to && { [dates.to]: to }),
      });
      if (counted === undefined) return undefined;
      sum += counted;
    }
    return sum;
  };
  const isCounted = dates !== undefined && profile.counts === null;
  const before = isCounted ? await count({}) : undefined;
  const inAll = before === undefined ? undefined : await inWindows().catch(unlessRefused);
  const reading = readNewest(reader, task, 1);
  for (let next = await reading.next(); !next.done; ) {
    const step = next.value;
    const isDated = inAll === undefined ? undefined : before === inAll && before === step.total;
    next = await reading.next(yield { ...step, requests: step.requests + requests, isDated });
  }
}

/** A source may refuse windows so long. */
function unlessRefused(error: unknown): undefined {
  if (!isKind(error, 'refused')) throw error;
}
