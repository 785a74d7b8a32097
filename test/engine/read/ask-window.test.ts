import { expect, test } from 'vitest';
import transactions from '../../../jobs/transactions.ts';
import type { Edge } from '../../../src/engine/profile/observation.ts';
import { UNKNOWN } from '../../../src/engine/profile/source-profile.ts';
import { askForWindow } from '../../../src/engine/read/plan-window.ts';
import { addDays } from '../../../src/engine/slices/date-windows.ts';
import type { DateSlice } from '../../../src/engine/slices/slice.ts';
import type { Task } from '../../../src/engine/task/task.ts';

const WINDOWS: readonly (readonly [string, string])[] = [
  ['2024-02-29', '2024-02-29'],
  ['2025-12-01', '2025-12-31'],
  ['2025-01-01', '2025-12-31'],
];

test.each(WINDOWS)('the query for %s to %s is a day wider, and never narrower than the window', (from, to) => {
  const window: DateSlice = { by: 'date', from, to };
  const long = from !== to;
  const ask = (inclusiveEdges: readonly Edge[], doubtedEdges: readonly string[]) =>
    askForWindow(
      {
        state: { doubtedEdges: new Set(doubtedEdges) },
        resource: {
          ...{ dates: { from: 'from', to: 'to' }, job: transactions },
          ...{ profile: UNKNOWN, entries: new Map(), strategy: { partition: 'date', inclusiveEdges } },
        },
      } as unknown as Task,
      window,
    ).query;
  const asked = (...inclusiveEdges: Edge[]) => ask(inclusiveEdges, []);
  const [earlier, later] = [addDays(from, -1), addDays(to, 1)];
  expect(asked()).toEqual({ from: earlier, to: later });
  expect(asked('date from')).toEqual({ from: long ? earlier : from, to: later });
  expect(asked('date to')).toEqual({ from: earlier, to: long ? later : to });
  expect(asked('date from', 'date to')).toEqual(long ? { from: earlier, to: later } : { from, to });
  // It lacked rows of that day: whatever was seen of other windows, the next reading is a day wider there.
  expect(ask(['date from', 'date to'], [`date from ${from}`])).toEqual({ from: earlier, to: long ? later : to });
});
