import { MINUTE, stampMs } from '../../clock.ts';
import type { Reached } from '../../source/paging/stable-reading.ts';
import { type Choice, MOST_PAGES } from '../agenda/choice.ts';
import { pageSize, partition } from '../coverage/list.ts';
import { isAlone, isDoubtful, measureOf, mostAlone } from '../coverage/uncounted.ts';
import type { Edge } from '../profile/observation.ts';
import { edgeText } from '../profile/observe-edges.ts';
import type { AskedDays } from '../profile/observe-filter.ts';
import { narrowEdges } from '../profile/strategy.ts';
import type { Resource } from '../resource.ts';
import { type Day, holds, NEWEST, OLDEST, splitWindow, widened } from '../slices/date-windows.ts';
import { type DateSlice, type Slice, sliceText } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import { knownRows } from './answer/observe-answer.ts';
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
  /** Only the number of rows counts; the reading proves nothing. */
  readonly measures?: boolean;
  /** If the slice may have been cut off, another reading can show that it was not. */
  readonly mayProve?: boolean;
}

/** The query for a window. Edges are padded by a day until the source was seen to include them, where rows of theirs were lacked, and for long windows. */
export function askForWindow(
  task: Task,
  window: DateSlice,
): { query: Record<string, string>; asked: AskedDays; narrow: readonly Edge[] } {
  const { dates } = task.resource;
  if (!dates) throw new Error(`${task.resource.name} cannot be asked for by date`);
  const { strategy } = task.resource;
  const wide = widened(window);
  const narrow = narrowEdges(strategy, window, [
    ...(isCostly(task.resource, window, wide.from) ? (['date from'] as const) : []),
    ...(isCostly(task.resource, window, wide.to) ? (['date to'] as const) : []),
  ]).filter(edge => !task.state.doubtedEdges.has(edgeText(edge, window)));
  const [oldest, newest] = strategy.closesWindows ? [OLDEST, NEWEST] : [null, null];
  const from = (narrow.includes('date from') ? window : wide).from ?? oldest;
  const to = (narrow.includes('date to') ? window : wide).to ?? newest;
  const query = { ...(from !== null && { [dates.from]: from }), ...(to !== null && { [dates.to]: to }) };
  return { query, asked: { from, to, field: dates.field }, narrow };
}

/** With the rows of this day as well, the window may have more than are believed without a count. */
function isCostly(resource: Resource, window: DateSlice, day: Day | null): boolean {
  if (day === null) return false;
  const beside = partition(resource).find(({ slice }) => slice.by === 'date' && holds(slice, day));
  return isDoubtful(resource, window, knownRows(resource, window) + (beside?.rows ?? 0));
}

/** How to read a window: all its pages, or only the first if there are too many. */
export function planWindow(
  task: Task,
  window: DateSlice,
  today: Day,
  { gathered, asks }: Pick<Choice, 'gathered' | 'asks'>,
): PageReading {
  const { query, asked, narrow } = askForWindow(task, window);
  if (asks === 'length') return { slice: window, query, asked, measures: true, whenRead: measured };
  const { resource } = task;
  const cut = gathered ? gatherLess : cutWindow(window, today);
  const proves = mayProve(task, window);
  const ifLacking = ({ rows, counted }: Reached, startedAt: string) => {
    if (counted || rows === null || rows <= mostAlone(resource, window)) return undefined;
    if (rows < rowsShownLately(task, stampMs(startedAt))) return undefined;
    return cut?.(null, rows) ?? capped(window, rows, startedAt, proves);
  };
  return {
    slice: window,
    query,
    asked,
    whenRead: (startedAt, reached) => ({
      ...{ kind: 'proven', slice: window, startedAt, narrow, asked, pages: reached?.pages },
      ifLacking: reached && ifLacking(reached, startedAt),
      // So many rows that the next attempt gathers half as much.
      ifLeftOut: cut?.(gathered ? 2 * MOST_PAGES * pageSize(resource) : null, reached?.rows ?? 0),
    }),
    gathered,
    cut,
    mayProve: proves,
  };
}

/** How long ago a longer reading of the same task may have begun to show that this one is not cut off. */
const SHOWN_LATELY_MS = 10 * MINUTE;

export const rowsShownLately = ({ resource: { shownLately }, since }: Task, at: number): number =>
  shownLately !== null && shownLately.at >= Math.max(at - SHOWN_LATELY_MS, since) ? shownLately.rows : 0;

/** The reading may have been cut off, and no smaller slice can be asked for. */
export const capped = (slice: Slice, rows: number, startedAt: string, mayProve = false) =>
  ({
    kind: 'unproven',
    reason: `the source returned exactly ${rows} rows and no further page, so more may be hidden`,
    startedAt,
    ...(slice.by === 'date' && { rows }),
    ...(!mayProve && { givenUp: true as const }),
  }) as const;

/** A longer reading may yet show that this one is not cut off, or that no other window has rows. */
function mayProve({ resource, state }: Task, window: DateSlice): boolean {
  const measure = measureOf(resource, window);
  return measure === null ? !isAlone(resource, window) : !state.done.has(sliceText(measure));
}

const measured = (startedAt: string): End => ({ kind: 'targeted', complete: false, startedAt });

/** If the source gives no count, twice the rows shown is a guess that makes the next attempt gather half as much. */
const gatherLess = (total: number | null, shown: number): End => ({ kind: 'larger', total: total ?? 2 * shown });

function cutWindow(window: DateSlice, today: Day): PageReading['cut'] {
  const into = splitWindow(window, today);
  return into === null ? undefined : total => ({ kind: 'split', into, total });
}
