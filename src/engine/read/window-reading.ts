import { LEAST_CUT, type Reached } from '../../source/paging/stable-reading.ts';
import type { Edge } from '../profile/observation.ts';
import type { AskedDays } from '../profile/observe-filter.ts';
import { narrowEdges } from '../profile/strategy.ts';
import { type Day, NEWEST, OLDEST, splitWindow, widened } from '../slices/date-windows.ts';
import type { DateSlice, Slice } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import type { End } from './step.ts';

/** How a slice is read page by page. */
export interface PageReading {
  readonly slice: Slice;
  readonly query: Readonly<Record<string, string>>;
  /** The end of the reading once every page was read and the rows add up. `reached`: where they end; undefined without rows. */
  readonly whenRead: (startedAt: string, reached?: Reached) => End;
  /** The end of a slice that is too large; absent if it cannot be cut. `total`: the source's count of its rows. */
  readonly cut?: ((total: number | null, shown: number) => End) | undefined;
  /** Several windows are requested together. */
  readonly gathered?: boolean;
  /** The days in the query, to check that the source keeps to them. */
  readonly asked?: AskedDays;
}

/** The query for a window. Edges are padded by a day until the source was seen to include them, and always for long windows. */
export function askForWindow(
  task: Task,
  window: DateSlice,
): { query: Record<string, string>; asked: AskedDays; narrow: readonly Edge[] } {
  const { dates } = task.resource;
  if (!dates) throw new Error(`${task.resource.name} cannot be asked for by date`);
  const { strategy } = task.resource;
  const narrow = narrowEdges(strategy, window);
  const wide = widened(window);
  const [oldest, newest] = strategy.closesWindows ? [OLDEST, NEWEST] : [null, null];
  const from = (narrow.includes('date from') ? window : wide).from ?? oldest;
  const to = (narrow.includes('date to') ? window : wide).to ?? newest;
  const query = { ...(from !== null && { [dates.from]: from }), ...(to !== null && { [dates.to]: to }) };
  return { query, asked: { from, to, field: dates.field }, narrow };
}

/** How to read a window: all its pages, or only the first if there are too many. */
export function windowReading(task: Task, window: DateSlice, today: Day, gathered: boolean): PageReading {
  const { query, asked, narrow } = askForWindow(task, window);
  const cut = gathered ? gatherLess : cutWindow(window, today);
  const ifLacking = ({ rows, counted }: Reached) =>
    counted || rows === null || rows < LEAST_CUT ? undefined : cut?.(null, rows);
  return {
    slice: window,
    query,
    asked,
    whenRead: (startedAt, reached) => ({
      ...{ kind: 'proven', slice: window, startedAt, narrow },
      ifLacking: reached && ifLacking(reached),
    }),
    gathered,
    cut,
  };
}

/** If the source gives no count, twice the rows shown is a guess that makes the next attempt gather half as much. */
const gatherLess = (total: number | null, shown: number): End => ({ kind: 'larger', total: total ?? 2 * shown });

function cutWindow(window: DateSlice, today: Day): PageReading['cut'] {
  const into = splitWindow(window, today);
  return into === null ? undefined : total => ({ kind: 'split', into, total });
}
