import type { Counts } from '../../../sandbox/data/data.ts';
import { type Kind, LISTS, type List, PAGE_ROWS, rowsPerDay, type StreamParameters } from '../parameters.ts';
import { flowsOf } from '../stream/flows.ts';
import { type Cell, rateOf } from './optimum.ts';

export interface PlacedCell extends Cell {
  readonly list: List;
  /** Positions from the newest end of the list; `to` is not included. */
  readonly from: number;
  readonly to: number;
}

/** Rows that a change adds. */
const GROWTH: Readonly<Record<Kind, number>> = { new: 1, paid: 0, edited: 0, 'back-dated': 1, moved: 0, deleted: -1 };

/**
 * Pages of 100 rows in order of date, with their true change rates. The newest page of a list fills up before the next one begins, so
 * it is half full on average. `afterHours`: after the lists have grown for so long.
 */
export function cellsOf(counts: Counts, parameters: StreamParameters, afterHours = 0): PlacedCell[] {
  const flows = flowsOf(counts, parameters);
  const growth = (list: List) =>
    flows.reduce((sum, flow) => (flow.list === list ? sum + GROWTH[flow.kind] * flow.perHour : sum), 0);
  return LISTS.flatMap(list => {
    const size = Math.round(counts[list] + growth(list) * afterHours);
    const extent = { size, perDay: rowsPerDay(parameters.lists[list], counts[list]) };
    const its = flows.filter(flow => flow.list === list);
    const starts = [0];
    for (let start = PAGE_ROWS / 2; start < size; start += PAGE_ROWS) starts.push(start);
    return starts.map((from, index): PlacedCell => {
      const to = starts[index + 1] ?? size;
      return { list, from, to, cost: 1, rate: rateOf(its, extent, parameters, { from, to }) };
    });
  });
}
