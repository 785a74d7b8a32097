import { HOUR, MINUTE } from '../../../src/clock.ts';
import { byList, LISTS, type List, PAGE_ROWS, rowsPerDay } from '../parameters.ts';
import { type Answer, NEWEST, OLDEST, type Policy, type Question } from '../policy.ts';
import { flowsOf, type Habits } from '../stream/flows.ts';
import { phaseAt } from '../stream/habits.ts';
import { type Key, keyOf, type Rows } from '../stream/rows.ts';
import type { StreamOptions } from '../stream/stream.ts';
import { createDueQueue, type DueQueue } from './due-queue.ts';
import { optimumOf, rateOf } from './optimum.ts';

/** New rows shift the ages of all others, and inserted ones make cells larger than a page. */
const RECUT_MS = 6 * HOUR;
const RECUT_WHILE_EXTRA_MS = 15 * MINUTE;
/** What an import or a mass edit changed last is still to be read when it ends. */
const EXTRA_LASTS_MS = HOUR;
/** Share of the limit that is planned. The rest reads the pages that fill up between two cuts; without it they queue. */
const PLANNED_SHARE = 0.99;

interface Cell {
  readonly list: List;
  readonly from: Key;
  to: Key;
  intervalMs: number;
  /** When it was due last; readings stay evenly spaced even if one is late. */
  readMs: number;
}

export interface Oracle {
  readonly rows: Readonly<Record<List, Rows>>;
  readonly stream: Omit<StreamOptions, 'seed'>;
  readonly requestsPerHour: number;
}

/**
 * The static policy that is best for known rates (`optimumOf`): each page is read at even intervals. It knows where the rows are and
 * how often they change, and believes one reading that lacks a row, so it is a bound for policies that read pages.
 */
export function optimal(oracle: Oracle): Policy {
  const { phases = [], phasesFromMs = oracle.stream.startMs } = oracle.stream;
  let cells: readonly Cell[] = [];
  let queue: DueQueue<Cell> = createDueQueue();
  let recutMs = Number.NEGATIVE_INFINITY;
  let reading: Cell | null = null;
  /** The rest of a cell that has become larger than a page. */
  let rest: Question | null = null;

  const recut = (now: number) => {
    const { phase, untilMs } = phaseAt(phases, phasesFromMs, now);
    const at = now - phasesFromMs;
    const extra = phases.flatMap(({ fromMs, toMs, extra = [] }) =>
      at >= fromMs && at < toMs + EXTRA_LASTS_MS ? extra : [],
    );
    recutMs = Math.min(now + (extra.length > 0 ? RECUT_WHILE_EXTRA_MS : RECUT_MS), untilMs);
    cells = cut(oracle, { ...phase, extra }, now, cells);
    queue = createDueQueue();
    for (const cell of cells) enqueue(cell);
  };
  const enqueue = (cell: Cell) => {
    if (Number.isFinite(cell.intervalMs)) queue.add(cell.readMs + cell.intervalMs, cell);
  };
  return {
    name: 'optimal, rates known',
    lacks: { customers: 1, invoices: 1, transactions: 1 },
    next(now) {
      if (rest) return rest;
      if (now >= recutMs) recut(now);
      const untilMs = Math.min(queue.earliestMs, recutMs);
      if (untilMs > now) return { untilMs };
      reading = queue.take();
      return { list: reading.list, from: reading.from, to: reading.to };
    },
    receive({ question, at, next }: Answer) {
      const cell = reading;
      if (cell) {
        cell.readMs = Math.max(cell.readMs + cell.intervalMs, at - cell.intervalMs);
        if (cell.to === NEWEST && next !== null) {
          // The newest page is full: another one begins. The next cut gives the old one an interval of its own.
          const newest = { ...cell, from: next };
          cell.to = next;
          cell.intervalMs = cells.findLast(each => each.list === cell.list && each.to === cell.from)?.intervalMs ?? 0;
          cell.intervalMs ||= newest.intervalMs;
          cells = [...cells, newest];
          enqueue(newest);
        }
        enqueue(cell);
      }
      rest = next === null ? null : { ...question, from: next };
      reading = null;
    },
  };
}

/** Cuts all lists into pages anew. A page is due as long after its last reading as its rate says. */
function cut(
  { rows, stream: { counts, parameters }, requestsPerHour }: Oracle,
  habits: Habits,
  now: number,
  before: readonly Cell[],
): Cell[] {
  const flows = flowsOf(counts, parameters, habits);
  const known = byList(list => before.filter(cell => cell.list === list).sort((a, b) => a.from - b.from));
  const placed = LISTS.flatMap(list => {
    const its = flows.filter(flow => flow.list === list);
    const extent = { size: rows[list].size, perDay: rowsPerDay(parameters.lists[list], counts[list]) };
    return bounds(rows[list]).map(({ from, to, middle, position }) => ({
      cell: { list, from, to, intervalMs: 0, readMs: lastRead(known[list], middle) },
      cost: 1,
      rate: rateOf(its, extent, parameters, position),
    }));
  });
  const { intervals } = optimumOf(placed, requestsPerHour * PLANNED_SHARE);
  return placed.map(({ cell }, index) => {
    const intervalMs = (intervals[index] as number) * HOUR;
    // The golden ratio spreads the first readings evenly.
    const phaseOf = (index * 0.6180339887) % 1;
    return {
      ...cell,
      intervalMs,
      readMs: cell.readMs ?? now - (Number.isFinite(intervalMs) ? phaseOf * intervalMs : 0),
    };
  });
}

/** Full pages from the oldest row on, and a last one that is open to new rows. */
function bounds(rows: Rows): { from: Key; middle: Key; to: Key; position: { from: number; to: number } }[] {
  const ids = rows.between(OLDEST, NEWEST, Number.POSITIVE_INFINITY);
  const keyAt = (index: number) => {
    const id = ids[index];
    if (id !== undefined) return keyOf(rows.dayOf(id), id);
    const last = ids.at(-1);
    return last === undefined ? OLDEST : keyOf(rows.dayOf(last), last) + 1;
  };
  const pages = Math.floor(ids.length / PAGE_ROWS) + 1;
  return Array.from({ length: pages }, (_, page) => ({
    from: page === 0 ? OLDEST : keyAt(page * PAGE_ROWS),
    // Inserted and deleted rows shift the bounds a little.
    middle: keyAt(Math.min((page + 0.5) * PAGE_ROWS, ids.length)),
    to: page === pages - 1 ? NEWEST : keyAt((page + 1) * PAGE_ROWS),
    position: { from: Math.max(ids.length - (page + 1) * PAGE_ROWS, 0), to: ids.length - page * PAGE_ROWS },
  }));
}

/** When the cell that held this place was last read; undefined before the first cut. */
function lastRead(sorted: readonly Cell[], place: Key): number | undefined {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as Cell).from <= place) low = middle + 1;
    else high = middle;
  }
  return sorted[low - 1]?.readMs;
}
