import { databaseNow } from '../../../warehouse/database/now.ts';
import { rowsByMonth, storedKeys } from '../../../warehouse/rows/stored-rows.ts';
import type { Choice } from '../../agenda/choice.ts';
import { monthsHold, summedLists } from '../../agenda/past-months.ts';
import { slicingOf } from '../../job.ts';
import { unproven } from '../../read/end-of-reading.ts';
import { readIds } from '../../read/ids/read-ids.ts';
import type { MonthFacts } from '../../read/months/choose-months.ts';
import { readAllMonths } from '../../read/months/read-all-months.ts';
import { readNewestMonths } from '../../read/months/read-newest-months.ts';
import { planWindow } from '../../read/plan-window.ts';
import { readCount } from '../../read/read-count.ts';
import { readAll, readNewest } from '../../read/read-newest.ts';
import { readOne } from '../../read/read-one.ts';
import { readPages } from '../../read/read-pages.ts';
import { readTotal } from '../../read/read-total.ts';
import { readValue } from '../../read/read-value.ts';
import { readWindow } from '../../read/read-window.ts';
import type { Committed, Step } from '../../read/step.ts';
import type { Resource } from '../../resource.ts';
import { dayIn } from '../../slices/date-windows.ts';
import { type Task, update } from '../../task/task.ts';
import type { Engine, Loop } from '../engine.ts';

/** Runs the chosen reading. Resolves when all its steps are committed. */
export async function read(loop: Loop, task: Task, choice: Choice, now: number): Promise<void> {
  const startedAt = new Date(now).toISOString();
  const steps = stepsOf(loop, task, choice, { now, startedAt });
  const commits: Promise<Committed>[] = [];
  let spent: Spent = { requests: 0, pages: 0 };
  let isLost = false;
  try {
    let next = await steps.next({ changed: 0 });
    while (!next.done && !isLost) {
      const step = next.value;
      if (choice.metered) update(task, { kind: 'spent', requests: step.requests });
      const { rows, bad, held = [], known } = step;
      const showsRows = rows.length + bad.length + held.length + (known?.keys.length ?? 0) > 0;
      spent = { requests: spent.requests + step.requests, pages: spent.pages + Number(showsRows) };
      const committed = loop.committer.add(step, steps).finally(step.release);
      // Thrown in `finally`; until then it must not be an unhandled rejection.
      committed.catch(() => {
        isLost = true;
      });
      commits.push(committed);
      next = await steps.next(step.isAwaited ? await committed : { changed: 0 });
      if (!next.done && isWasteful(spent)) {
        const last = { ...next.value, slice: choice.slice };
        commits.push(loop.committer.add(givenUp(last, spent, startedAt), steps).finally(last.release));
        return;
      }
    }
  } finally {
    await steps.return();
    await Promise.all(commits);
  }
}

/** What a reading has spent and brought so far. */
interface Spent {
  readonly requests: number;
  /** Answers that showed rows, whether they could be read or not. */
  readonly pages: number;
}

/** Requests per page of rows: an answer that is lost or spoilt is asked for again. */
const PER_PAGE = 4;
/** For the answers that show no row: the end of the list, a failing source. */
const AT_LEAST = 30;

/** A source that makes a reading spend so much more than its rows explain does not do what is known of it. */
export const isWasteful = ({ requests, pages }: Spent): boolean => requests > AT_LEAST + PER_PAGE * pages;

/** The end of a reading that spent too many requests on too few rows. */
const givenUp = (next: Step, { requests, pages }: Spent, startedAt: string): Step => ({
  ...next,
  rows: [],
  bad: [],
  replaced: 0,
  learnt: [],
  end: {
    ...unproven(`${requests} requests brought only ${pages} pages of rows`, startedAt),
    givenUp: true,
  },
});

function stepsOf(
  loop: Loop,
  task: Task,
  choice: Choice,
  { now, startedAt }: { now: number; startedAt: string },
): AsyncGenerator<Step, void, Committed> {
  const { engine } = loop;
  const { slice } = choice;
  const reader = loop.readerOf(task.lane);
  if (slicingOf(task.resource.job, 'month')) {
    const time = { now, zone: engine.timeZone };
    const known = () => knownMonths(engine, task.resource);
    if (slice.by === 'whole') return readAllMonths(reader, task, slice, time, known);
    if (slice.by === 'newest') return readNewestMonths(reader, task, slice, time, known);
  }
  switch (slice.by) {
    case 'id':
      return readIds(reader, engine.database, task, slice, choice.answers);
    case 'date':
      return readWindow(reader, task, planWindow(task, slice, dayIn(now, engine.timeZone), choice), startedAt);
    case 'value':
      return readValue(reader, task, slice, startedAt);
    case 'whole':
      return readPages(reader, task, {
        slice,
        query: {},
        whenRead: (startedAt, reached) => ({ kind: 'proven', slice, startedAt, reached }),
      });
    case 'newest':
      if (choice.asks === 'count') return readCount(reader, task);
      return choice.asks === 'all' ? readAll(reader, task, startedAt) : readNewest(reader, task, choice.answers);
    case 'total':
      return readTotal(reader, task, slice);
    case 'one':
      return readOne(reader, engine.database, task, slice, startedAt);
  }
}

/** What the warehouse knows of the months of a report. The time comes before the rows: what changes in between counts as changed since. */
async function knownMonths(
  { database, resources }: Pick<Engine, 'database' | 'resources'>,
  resource: Resource,
): Promise<MonthFacts> {
  const at = await databaseNow(database);
  const fields = slicingOf(resource.job, 'month')?.sumsUp ?? {};
  const lists = summedLists(resource, resources).map(({ source, name, table }) => {
    const field = fields[name] as string;
    return { source, resource: name, table, field };
  });
  const asked = [...resource.entries.values()].flatMap(entry =>
    entry.slice.by === 'total' ? [[entry.slice.month, entry] as const] : [],
  );
  return {
    at,
    keys: new Set(await storedKeys(database.kysely, resource.table)),
    asked: new Map(asked),
    summed: await rowsByMonth(database.kysely, lists),
    hold: monthsHold(resource, resources, at),
  };
}
